package bench;

import java.io.IOException;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Flink's DataStream on its local mini-cluster: a bounded Kafka source, keyed windows of event time, a Kafka sink, a
 * checkpoint every 10 s. The argument names the state backend: hashmap or rocksdb. One slot, as our worker is one
 * process.
 */
public final class CountJob {
  /** Reads group, moment, and how many events they stand for. */
  static final class Read implements DeserializationSchema<Tuple3<String, Long, Long>> {
    private final Settings settings;
    private transient Decoder decoder;

    Read(Settings settings) {
      this.settings = settings;
    }

    @Override
    public void deserialize(byte[] value, Collector<Tuple3<String, Long, Long>> out) throws IOException {
      if (decoder == null) decoder = new Decoder(settings.byBatch, settings.schema);
      decoder.read(value, (group, at, count) -> out.collect(Tuple3.of(group, at, count)));
    }

    @Override
    public Tuple3<String, Long, Long> deserialize(byte[] value) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isEndOfStream(Tuple3<String, Long, Long> event) {
      return false;
    }

    @Override
    public TypeInformation<Tuple3<String, Long, Long>> getProducedType() {
      return TypeInformation.of(new TypeHint<Tuple3<String, Long, Long>>() {});
    }
  }

  static final class Count implements AggregateFunction<Tuple3<String, Long, Long>, Long, Long> {
    @Override public Long createAccumulator() { return 0L; }
    @Override public Long add(Tuple3<String, Long, Long> event, Long sum) { return sum + event.f2; }
    @Override public Long getResult(Long sum) { return sum; }
    @Override public Long merge(Long one, Long other) { return one + other; }
  }

  static final class Publish extends ProcessWindowFunction<Long, String, String, TimeWindow> {
    @Override
    public void process(String group, Context context, Iterable<Long> counts, Collector<String> out) {
      out.collect(Settings.result(context.window().getStart(), group, counts.iterator().next()));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Settings settings = new Settings();
    Configuration configuration = new Configuration();
    configuration.setString("state.backend.type", arguments[0]);
    configuration.setString("execution.checkpointing.interval", "10 s");
    configuration.setString("execution.checkpointing.dir", "file://" + settings.state + "/checkpoints");
    configuration.setString("io.tmp.dirs", settings.state);
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1, configuration);

    KafkaSource<Tuple3<String, Long, Long>> source = KafkaSource.<Tuple3<String, Long, Long>>builder()
        .setBootstrapServers(settings.broker)
        .setTopics(settings.topic)
        .setGroupId(settings.group)
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setBounded(OffsetsInitializer.latest())
        .setProperty("isolation.level", "read_committed")
        .setValueOnlyDeserializer(new Read(settings))
        .build();
    KafkaSink<String> sink = KafkaSink.<String>builder()
        .setBootstrapServers(settings.broker)
        .setRecordSerializer(KafkaRecordSerializationSchema.builder()
            .setTopic(settings.out).setValueSerializationSchema(new SimpleStringSchema()).build())
        .build();

    // Watermarks are per Kafka partition, in which events are in order but for a second or two.
    environment
        .fromSource(source, WatermarkStrategy.<Tuple3<String, Long, Long>>forBoundedOutOfOrderness(Duration.ofSeconds(10))
            .withTimestampAssigner((event, time) -> event.f1), "events")
        .keyBy(event -> event.f0)
        .window(TumblingEventTimeWindows.of(Duration.ofSeconds(Settings.WINDOW_S)))
        .aggregate(new Count(), new Publish())
        .sinkTo(sink);
    environment.execute();
    Settings.mark("done");
  }
}
