package bench;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Locale;

/** What a run of a peer is told, and the marks that it leaves: time, and CPU seconds so far. */
final class Settings implements Serializable {
  static final long WINDOW_S = 60;
  static final int HEADER = 10;

  final String broker = told("BROKER");
  final String topic = told("TOPIC");
  final String out = told("OUT");
  final String group = told("GROUP");
  final String state = told("STATE");
  final long events = Long.parseLong(told("EVENTS"));
  final boolean byBatch = told("FORMAT").equals("batch");
  final String schema = read(told("SCHEMA"));

  private static String told(String name) {
    return System.getenv("BENCH_" + name);
  }

  private static String read(String path) {
    try {
      return Files.readString(Path.of(path));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  static void mark(String name) {
    double cpu = ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO).toNanos() / 1e9;
    String line = String.format(Locale.ROOT, "%s %.6f %.6f%n", name, System.currentTimeMillis() / 1e3, cpu);
    try {
      Files.writeString(Path.of(told("MARKS")), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  static String result(long windowMs, String group, long count) {
    return String.format(Locale.ROOT, "{\"w\": %d, \"k\": \"%s\", \"n\": %d}", windowMs / 1000, group, count);
  }
}
