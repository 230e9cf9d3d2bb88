#!/usr/bin/env bash
# cloudpickle 3.1.3: after register_pickle_by_value(module), a function of the module under functools.lru_cache is still
# sent by reference, without an error: the other process imports the module and computes with its first values.
# Expected: the value of the sending process, 10, as for a function without the cache.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'cloudpickle==3.1.3'
cd "$folder"
cat >settings.py <<'PYTHON'
from functools import lru_cache

scale = 1


def plain(x):
    return x * scale


@lru_cache
def cached(x):
    return x * scale
PYTHON
output=$("$folder/venv/bin/python" - <<'PYTHON'
import subprocess
import sys

sys.path.insert(0, "")
import cloudpickle
import settings

cloudpickle.register_pickle_by_value(settings)
settings.scale = 10
receive = "import pickle, sys; sys.path.insert(0, ''); print(pickle.load(sys.stdin.buffer)(1))"
for function in (settings.plain, settings.cached):
    data = cloudpickle.dumps(function)
    done = subprocess.run([sys.executable, "-c", receive], input=data, capture_output=True, check=True)
    print(function.__name__, done.stdout.decode().strip())
PYTHON
)
expected="plain 10
cached 1"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
