"""A folder for a model hub: weights, config and a model card."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from .atomic import write_atomically
from .errors import DataError, FileError
from .layout import Config, Tensors, checked
from .module_file import module_source
from .paths import path_text

LOADING = '''\
```python
import numpy as np, torch
from exact_transformer import ExactTransformer   # the file beside this one; needs PyTorch only

model = ExactTransformer.load("model.safetensors")
x = torch.zeros(1, 5, {d}, dtype=torch.{dtype})  # [batch, tokens, d]
mask = torch.ones(1, 5, dtype=torch.bool)        # False at padding
with torch.no_grad():
    y = model(x, mask)
```
'''


def export_hub(
    tensors: Tensors,
    config: Config,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    license: str = "mit",
) -> None:
    """Make or refresh a folder that can be uploaded to a model hub.

    It holds model.safetensors (metadata ``format: pt``, and the config as in any model file),
    config.json, exact_transformer.py (loads the model without this package), README.md (the model
    card: claim, how to load, limits) and, if given, certificate.json, a copy of the certificate. name is
    the card's title, by default the folder's name.

    Raises DataError for tensors that do not fit the config or a certificate that is no JSON object;
    FileError; UsageError if folder or certificate is no path.
    """
    tensors = checked(tensors, config)
    proof = None if certificate is None else _read_certificate(certificate)
    folder = Path(path_text(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: {error.strerror}") from error
    write_atomically(folder / "model.safetensors", model_file(tensors, config, "pt"))
    write_atomically(folder / "config.json", json.dumps(hub_config(config), indent=2) + "\n")
    write_atomically(folder / "exact_transformer.py", module_source())
    if certificate is not None:
        write_atomically(folder / "certificate.json", Path(path_text(certificate)).read_bytes())
    card = model_card(tensors, config, name or folder.resolve().name, proof, license)
    write_atomically(folder / "README.md", card)


def model_file(tensors: Tensors, config: Config, format: str = "exactformer") -> bytes:
    """A model file of the interchange layout."""
    metadata = {"format": format, "version": "1", "config": json.dumps(config)}
    return save(checked(tensors, config), metadata)


def hub_config(config: Config) -> dict[str, Any]:
    """The config under the keys that hubs look for."""
    return {
        "model_type": "exactformer",
        "architectures": ["ExactTransformer"],
        "hidden_size": config["d"],
        "intermediate_size": config["width"],
        "num_hidden_layers": config["blocks"],
        "torch_dtype": _dtype(config),
        **config,
    }


def model_card(
    tensors: Tensors,
    config: Config,
    name: str,
    proof: Config | None = None,
    license: str = "mit",
) -> str:
    """The model card as Markdown, with the metadata that hubs read at its top."""
    loading = LOADING.format(d=config["d"], dtype=_dtype(config))
    parts = [
        f"---\nlicense: {license}\nlibrary_name: pytorch\ntags:\n- exactformer\n---",
        f"# {name}",
        _claim(config),
        _certificate_text(proof),
        "## Loading",
        loading.rstrip(),
        "With the package exactformer, `exactformer.load(\"model.safetensors\")`.",
        "## The model",
        _table(tensors, config),
        "## Limits",
        "The claim is about IEEE arithmetic in the model's own precision. It does not survive conversion to "
        "another precision, autocast to bfloat16 or float16, TF32, flushing of subnormal numbers, or compilers "
        "told to ignore NaN, infinities or the order of operations in ways that change single results. Inputs "
        "that the model was not built for have outputs without any meaning.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _claim(config: Config) -> str:
    if config.get("construction") not in ("pooled", "published"):
        return (
            f"A transformer of {config['blocks']} blocks ({config.get('construction', 'unknown')} weights). "
            "No exactness is claimed."
        )
    return (
        f"A transformer of {config['blocks']} blocks whose weights were constructed, not trained. It maps each of "
        f"{_count(config, 'sequences', 'sequence')} of its data set exactly to its set of targets "
        f"({_count(config, 'targets', 'target')} in all): as real numbers, and bit for bit in "
        f"{_dtype(config)}, whatever the order of summation, with or without fused multiply-add, {_temperatures(config)}. "
        "The sign of a zero is disregarded."
    )


def _count(config: Config, key: str, noun: str) -> str:
    number = config.get(key, "?")
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _temperatures(config: Config) -> str:
    tau_max = config.get("tau_max")
    if tau_max is None:
        return "with hardmax attention and with softmax attention at every temperature"
    if tau_max == 0:
        return "with hardmax attention"
    return f"with hardmax attention and with softmax attention at every temperature up to {tau_max!r}"


def _certificate_text(proof: Config | None) -> str:
    if proof is None:
        return ""
    facts = "".join(
        f"\n| `{key}` | {value} |"
        for key, value in proof.items()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(str(value)) < 80
    )
    text = "## Certificate\n\nA proof for these very weights is in `certificate.json`."
    return text + (f" It says\n\n| key | value |\n|---|---|{facts}" if facts else "")


def _table(tensors: Tensors, config: Config) -> str:
    parameters = sum(tensor.size for tensor in tensors.values())
    nonzero = sum(int(np.count_nonzero(tensor)) for tensor in tensors.values())
    rows = [
        ("blocks", config["blocks"]),
        ("dimension of a token", config["d"]),
        ("width", config["width"]),
        ("precision", _dtype(config)),
        ("attention", config["attention"]),
        ("construction", config.get("construction")),
        ("parameters", f"{parameters}, of them {nonzero} nonzero"),
        ("phases", ", ".join(f"{p['name']} ({p['count']})" for p in config.get("phases") or [])),
    ]
    return "| | |\n|---|---|" + "".join(f"\n| {key} | {value} |" for key, value in rows if value)


def _dtype(config: Config) -> str:
    return "float32" if config["dtype"] == "F32" else "float64"


def _read_certificate(path: str | os.PathLike[str]) -> dict[str, Any]:
    name = path_text(path)
    try:
        proof = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{name}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{name}: not JSON: {error}") from error
    if not isinstance(proof, dict):
        raise DataError(f"{name}: not a JSON object")
    return proof
