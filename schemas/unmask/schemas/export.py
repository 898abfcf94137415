"""Writes the published schemas out, as a folder from which an older installation learns to read what this one writes.

The folder has the shape that UNMASK_EXTRA_SCHEMAS takes: <record>/v1.avsc, <record>/v2.avsc and so on.
"""

from importlib import resources
from pathlib import Path

from unmask.schemas.errors import ContractError
from unmask.schemas.history import RECORDS, published

__all__ = ["SchemaFileDiffers", "export_schemas"]


class SchemaFileDiffers(ContractError):
    """A file of the folder is not what was published under its name; name an empty folder."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is there already and is not the published schema of that name; export into an empty folder"
        )


def export_schemas(folder: Path) -> list[Path]:
    """Writes every version of every record below `folder`; the files, written now or there already.

    Nothing is written over. Raises SchemaFileDiffers, having written nothing, and OSError.
    """
    texts = {
        folder / record / f"v{schema.version}.avsc": _text(record, schema.version)
        for record in RECORDS
        for schema in published(record)
    }
    for path, text in texts.items():
        if path.exists() and path.read_text("utf-8") != text:
            raise SchemaFileDiffers(path)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return list(texts)


def _text(record: str, version: int) -> str:
    return resources.files("unmask.schemas").joinpath("avsc", record, f"v{version}.avsc").read_text("utf-8")
