#!/usr/bin/env bash
# Probes a genuine model server on this machine's CPU and writes what weir said
# to docs/real-servers.md. Needs python3 with venv; everything else comes from
# PyPI into .cache/real. Not part of CI: it downloads 300 MB, and its figures
# are this machine's.
set -euo pipefail
cd "$(dirname "$0")/../.."
home=.cache/real
out=docs/real-servers.md
port=${PORT:-18077}

if [[ ! -x $home/venv/bin/python ]]; then python3 -m venv "$home/venv"; fi
"$home/venv/bin/pip" install -q --only-binary xllamacpp --disable-pip-version-check -r test/real/requirements.txt
mkdir -p "$home/model" docs

"$home/venv/bin/python" test/real/serve.py "$port" "$home/model" >"$home/serve.log" 2>&1 &
server=$!
body=$(mktemp)
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -f "$body"' EXIT
for _ in $(seq 120); do
  if grep -q '^ready ' "$home/serve.log"; then break; fi
  kill -0 "$server" 2>/dev/null || { cat "$home/serve.log" >&2; exit 1; }
  sleep 0.5
done
grep -q '^ready ' "$home/serve.log" || { echo "the server did not come up: see $home/serve.log" >&2; exit 1; }

url=http://127.0.0.1:$port

# show TITLE ARGUMENTS…: one probe, its command and its output as a section.
show() {
  local title=$1 words
  shift
  echo "real: $title" >&2
  printf -v words ' %q' "$@"
  if [[ $words == *\$\'* ]]; then words=" $*"; fi # %q escapes Chinese
  printf '\n## %s\n\n```console\n$ weir probe%s\n' "$title" "${words//$port/8080}"
  ./weir probe "$@" --quiet </dev/null | sed -e "s/:$port/:8080/g" -e 's/ *$//'
  printf '```\n'
}

{
  cat <<TEXT
# Real servers

Written by \`make real\`; the words come from \`test/real/run.sh\`, the figures from one machine. The server is llama.cpp's own
HTTP server ($(grep ^xllamacpp test/real/requirements.txt), from PyPI) with a real small model, Gemma 3 270M in Q4_K_M, on the CPU:

- date: $(date -u +%Y-%m-%d), $(./weir version | cut -d, -f1)
- cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(getconf _NPROCESSORS_ONLN) cores shared with whatever else ran; $(uname -sr | cut -d- -f1)

The model is tiny and its text is poor; what counts is the wire. What these streams taught weir:

- The server sends \`Keep-Alive: timeout=5, max=100\` and closes the connection after the answer all the same. The next request
  meets the close on its way, and a client that takes that for a reset accuses the answer falsely. weir asks again on a new
  connection, counts the request as cold and says so in a note.
- Headers come in a few milliseconds, before the prompt is even read: "response time" as a plain HTTP tool knows it says
  nothing of the model.
- The first event carries only a role, with \`content: null\`. On a short prompt it leaves together with the first text; ttft is
  the text.
- With usage asked for, the service's own prefill time stands only in the last chunk, which has no choices.
- \`/v1/responses\` has no sequence numbers here, so a lost event could not be seen on that path.
TEXT
  show "Chat, English" "$url" -n 3 --max-tokens 60
  show "Chat, Chinese" "$url" -n 3 --max-tokens 60 --prompt '用三句话介绍一下长江。'
  show "The native stream" "$url/completion" -n 1 --max-tokens 60 --prompt 'A river begins'
  show "The native stream, Chinese" "$url/completion" -n 1 --max-tokens 60 --prompt '长江是中国最长的河流，'
  show "The Responses protocol" "$url/v1/responses" -n 1 --max-tokens 40
  show "The Messages protocol" "$url/v1/messages" -n 1 --max-tokens 40
} >"$body"
cp "$body" "$out"
echo "wrote $out" >&2
