#!/usr/bin/env bash
# Gets what the tests talk to. System packages are installed only as root with
# apt-get; elsewhere this lists what is missing, and the tests that need it skip.
# With CI=true or WEIR_PEERS=required a missing peer is a failure, never a skip.
set -euo pipefail
cd "$(dirname "$0")/.."

# binary=Debian package
peers=(nginx=nginx haproxy=haproxy caddy=caddy redis-server=redis-server promtool=prometheus chromium=chromium
  'cc=gcc libc6-dev' # for the race detector, and a library that gives Redis another time of day
  ip=iproute2 unshare=util-linux)

required=false
if [[ ${CI:-} == true || ${WEIR_PEERS:-} == required ]]; then required=true; fi

# Debian puts servers into sbin, which a user's PATH often lacks.
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin

missing() {
  local p
  for p in "${peers[@]}"; do
    command -v "${p%%=*}" >/dev/null || echo "${p##*=}"
  done
  # Without a Chinese font the pictures of the html report would be boxes.
  [[ -n $(fc-list :lang=zh 2>/dev/null) ]] || echo fontconfig fonts-noto-cjk
}

mapfile -t want < <(missing | tr ' ' '\n')
if ((${#want[@]})) && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
  echo "peers: installing ${want[*]}"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${want[@]}"; } >/dev/null ||
    echo "peers: apt-get failed" >&2
  mapfile -t want < <(missing | tr ' ' '\n')
fi
if ((${#want[@]})); then
  echo "peers: missing: ${want[*]}. Install with: apt-get install ${want[*]}" >&2
  if $required; then exit 1; fi
  echo "peers: the tests that need them will be skipped and counted" >&2
fi

# The official SDKs, exactly as locked; only when the lock is newer than what is there.
sdk=test/sdk
if [[ -f $sdk/package-lock.json && $sdk/package-lock.json -nt $sdk/node_modules/.package-lock.json ]]; then
  if command -v npm >/dev/null; then
    echo "peers: installing the SDKs of $sdk"
    (cd "$sdk" && npm ci --no-audit --no-fund --loglevel=error) || {
      echo "peers: npm ci failed" >&2
      if $required; then exit 1; fi
    }
  else
    echo "peers: npm is missing; the tests of the SDKs will be skipped and counted" >&2
    if $required; then exit 1; fi
  fi
fi

# The Go SDKs, by building their driver; slow only the first time.
if ! (cd "$sdk/go" && go build -o /dev/null .); then
  echo "peers: the drivers of the Go SDKs do not build; their tests will be skipped and counted" >&2
  if $required; then exit 1; fi
fi

# The Python SDKs, in an environment of their own.
py=$sdk/python
if [[ ! -f $py/.venv/installed || $py/requirements.txt -nt $py/.venv/installed ]]; then
  if ! { python3 -m venv "$py/.venv" && "$py/.venv/bin/pip" install -q --disable-pip-version-check -r "$py/requirements.txt" &&
    touch "$py/.venv/installed"; }; then
    echo "peers: no Python environment (python3 with venv and pip); the tests of the Python SDKs will be skipped and counted" >&2
    if $required; then exit 1; fi
  fi
fi
