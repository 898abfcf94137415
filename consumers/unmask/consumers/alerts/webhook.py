"""What a webhook receives: a JSON document for each change of an alert, of tokens, codes, instants and counts alone."""

import hashlib
import json
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from unmask.consumers.alerts.words import Severity, kind_of
from unmask.schemas.instants import Instant
from unmask.schemas.models import Alert

__all__ = ["IDEMPOTENCY_HEADER", "WebhookBody", "idempotency_key", "webhook_body"]

IDEMPOTENCY_HEADER = "Idempotency-Key"


class WebhookBody(BaseModel):
    """The body of a request to a webhook.

    `schema_version` grows when a field goes or changes its meaning; an added field leaves it as it is.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, serialize_by_alias=True)

    # The JSON name is also that of a method which every model has.
    schema_name: Literal["unmask.alert"] = Field(
        default="unmask.alert", alias="schema", description="Always `unmask.alert`."
    )
    schema_version: Literal[1] = Field(default=1, description="1.")
    namespace: str = Field(description="Whose alert it is; alerts of two namespaces may have equal ids.")
    idempotency_key: str = Field(description="As in the header: equal for every delivery of one change, else never.")
    sent_at: Instant = Field(description="When this request was made; differs between deliveries of one change.")
    severity: Severity = Field(description="How soon a person should look.")
    alert: Alert = Field(description="The alert's record as it stands on the topic.")


def idempotency_key(namespace: str, alert: Alert) -> str:
    """64 hex digits that name one change of one alert, the same after any restart."""
    said = alert.model_dump(mode="json")
    # What was added later says nothing where it is not set, and must not give a change that was told before a new key.
    if said["delegation_id"] is None:
        del said["delegation_id"]
    content = json.dumps([namespace, said], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


def webhook_body(namespace: str, alert: Alert, sent_at: datetime) -> WebhookBody:
    """The document that tells of a change."""
    return WebhookBody(
        namespace=namespace,
        idempotency_key=idempotency_key(namespace, alert),
        sent_at=sent_at,
        severity=kind_of(alert).severity,
        alert=alert,
    )
