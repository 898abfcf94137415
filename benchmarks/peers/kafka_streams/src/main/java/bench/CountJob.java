package bench;

import java.io.IOException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;

/**
 * Kafka Streams as its users write it: decode, repartition by group, count per window, publish what changed. RocksDB
 * with a changelog, commits every 30 s, a record cache that publishes each count once per commit: all defaults.
 *
 * <p>Over batches every group of a batch goes on as one record that says how many events it stands for.
 */
public final class CountJob {
  private static final AtomicLong COUNTED = new AtomicLong();

  /** Decodes, and sets the time of each record that goes on to that of its events. */
  static final class Decode extends ContextualProcessor<byte[], byte[], String, Long> {
    private final Decoder decoder;

    Decode(Settings settings) {
      decoder = new Decoder(settings.byBatch, settings.schema);
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      try {
        decoder.read(record.value(), (group, at, count) -> context().forward(new Record<>(group, count, at)));
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    Settings settings = new Settings();
    CountDownLatch counted = new CountDownLatch(1);

    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, settings.group);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, settings.broker);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, settings.state);
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    // What the log's writer did not commit must not be counted.
    properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");

    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(settings.topic, Consumed.with(Serdes.ByteArray(), Serdes.ByteArray()))
        .process(() -> new Decode(settings))
        .repartition(Repartitioned.with(Serdes.String(), Serdes.Long()).withName("group"))
        .peek((group, count) -> {
          if (COUNTED.addAndGet(count) == settings.events) {
            Settings.mark("counted");
            counted.countDown();
          }
        })
        .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
        .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(Settings.WINDOW_S), Duration.ofHours(2)))
        .aggregate(() -> 0L, (group, count, sum) -> sum + count, Materialized.with(Serdes.String(), Serdes.Long()))
        .toStream()
        .map((window, n) ->
            KeyValue.pair(window.key(), Settings.result(window.window().start(), window.key(), n)))
        .to(settings.out, Produced.with(Serdes.String(), Serdes.String()));

    KafkaStreams streams = new KafkaStreams(builder.build(), properties);
    streams.start();
    counted.await();
    // Closing commits, which publishes what is in the cache.
    streams.close(Duration.ofSeconds(60));
    Settings.mark("done");
  }
}
