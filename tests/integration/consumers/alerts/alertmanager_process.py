"""Debian's Alertmanager in a process of its own, which notifies a webhook of the test's."""

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.debian_commands import debian_command
from tests.integration.consumers.alerts.receiving import eventually, free_port

__all__ = ["AlertmanagerProcess"]

_CONFIG = """
global: {{resolve_timeout: 5m}}
route:
  receiver: people
  group_by: [alertname, alert_id]
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: people
    webhook_configs: [{{url: "{url}", send_resolved: true}}]
"""


class AlertmanagerProcess:
    """Keeps its port and its folder over restarts, as a real one does."""

    def __init__(self, folder: Path, notifies: str) -> None:
        self._command = debian_command("prometheus-alertmanager")
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[str] | None = None
        (folder / "alertmanager.yml").write_text(_CONFIG.format(url=notifies))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> "AlertmanagerProcess":
        """Starts, and waits until it is ready."""
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [
                    self._command, f"--config.file={self._folder / 'alertmanager.yml'}",
                    f"--storage.path={self._folder / 'data'}", f"--web.listen-address=127.0.0.1:{self._port}",
                    "--cluster.listen-address=", "--log.level=debug",
                ],
                stderr=log, text=True,
            )  # fmt: skip
        eventually(self._ready)
        return self

    def stop(self) -> None:
        """SIGTERM: it writes down whom it notified of what, and forgets all alerts."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
            self._process = None

    def alerts(self) -> dict[str, dict[str, Any]]:
        """What fires, by upstream (or alert_id where there is none)."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts", timeout=5) as answer:
            found = json.load(answer)
        return {one["labels"].get("upstream", one["labels"]["alert_id"]): one for one in found}

    def firing(self) -> set[str]:
        """The upstreams whose alerts fire."""
        return set(self.alerts())

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
