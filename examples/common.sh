# Shared by the `run` scripts of the examples, which source it: finding programs, starting and stopping them.
# Everything listens on loopback and is stopped, by its pid, when the script ends.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
chmod 755 "$work" # an nginx that root starts lets an unprivileged user keep large bodies in there
pids=()

# `tollgate ...`: the program named by TOLLGATE, else a release build of this repository.
tollgate_command=(cargo run --quiet --release --manifest-path "$root/Cargo.toml" --)
[ -n "${TOLLGATE:-}" ] && tollgate_command=("$TOLLGATE")

stop_all() {
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# program NAME: the path of a program, from .tools/ (where `scripts/test` installs) or the system.
program() {
  PATH="$root/.tools/bin:$root/.tools/venv/bin:$PATH:/usr/sbin" command -v "$1" ||
    { echo "$1 was not found: install it, or let \`scripts/test\` put it into .tools/" >&2; return 1; }
}

# start NAME COMMAND...: runs it in the background; its output goes to a file that is shown if it fails.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  pids+=("$!")
}

# ready NAME PORT [SECONDS]: waits until the program started last accepts connections on 127.0.0.1:PORT.
ready() {
  local pid=${pids[-1]} end=$((SECONDS + ${3:-15}))
  until (: <"/dev/tcp/127.0.0.1/$2") 2>/dev/null; do
    if ! kill -0 "$pid" 2>/dev/null || [ $SECONDS -ge $end ]; then
      echo "$1 is not ready on port $2:" >&2
      tail -n 20 "$work/$1.log" >&2
      exit 1
    fi
    sleep 0.1
  done
}

start_app() {
  start app "$(program python3)" "$root/examples/app.py" 8000
  ready app 8000
}

# start_tollgate [FLAGS]: the sidecar with the examples' policy; the first start may have to build it.
start_tollgate() {
  [ -n "${TOLLGATE:-}" ] || cargo build --release --manifest-path "$root/Cargo.toml" || exit 1
  # No proxy of another machine asks it, so it need not serve on when it is to end.
  start tollgate env TOLLGATE_DRAIN__DELAY=0s "${tollgate_command[@]}" serve --policy "$root/examples/policy.yaml" "$@"
  ready tollgate 9001
}

# show PORT: what to open, then wait for Ctrl-C or for one of the programs to end.
show() {
  cat <<TEXT

  http://127.0.0.1:$1/         the challenge, then the app
  http://127.0.0.1:$1/admin    refused by the policy
  http://127.0.0.1:9003/metrics    what Tollgate counted

  Ctrl-C stops everything.
TEXT
  wait -n "${pids[@]}"
  echo "one of the programs ended by itself:" >&2
  tail -n 5 "$work"/*.log >&2
  exit 1
}
