package bench;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Decodes records of either form into what is counted: group, moment, how often. Not for several threads. */
final class Decoder {
  /** Takes what a record holds. */
  interface Taker {
    void take(String group, long milliseconds, long count);
  }

  private static final AtomicBoolean FIRST = new AtomicBoolean();
  private static final long WINDOW_US = Settings.WINDOW_S * 1_000_000;
  private final boolean byBatch;
  private final GenericDatumReader<GenericRecord> reader;
  private BinaryDecoder decoder;
  private GenericRecord used;

  Decoder(boolean byBatch, String schema) {
    this.byBatch = byBatch;
    this.reader = new GenericDatumReader<>(new Schema.Parser().parse(schema));
  }

  void read(byte[] value, Taker taker) throws IOException {
    if (!FIRST.get() && FIRST.compareAndSet(false, true)) Settings.mark("first");
    decoder = DecoderFactory.get().binaryDecoder(value, Settings.HEADER, value.length - Settings.HEADER, decoder);
    used = reader.read(used, decoder);
    if (byBatch) takeBatch(taker);
    else taker.take(group(used.get("release_line"), used), (Long) used.get("occurred_at") / 1000, 1);
  }

  private void takeBatch(Taker taker) {
    GenericRecord emitter = (GenericRecord) used.get("emitter");
    Object line = ((GenericRecord) emitter.get("scope")).get("release_line");
    for (Object attempts : (List<?>) used.get("route_attempts")) {
      GenericRecord record = (GenericRecord) attempts;
      String group = group(line, record);
      // Events of one window go on together; there is more than one only where a batch crosses a window's end.
      long window = Long.MIN_VALUE;
      long count = 0;
      for (Object instant : (List<?>) record.get("occurred_at")) {
        long at = (Long) instant / WINDOW_US;
        if (at != window && count > 0) {
          taker.take(group, window * Settings.WINDOW_S * 1000, count);
          count = 0;
        }
        window = at;
        count++;
      }
      if (count > 0) taker.take(group, window * Settings.WINDOW_S * 1000, count);
    }
  }

  private static String group(Object line, GenericRecord record) {
    return line + "|" + record.get("capability") + "|" + record.get("entry_point");
  }
}
