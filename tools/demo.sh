#!/bin/sh
# SPDX-License-Identifier: MIT
# The demonstration: one slow web request, followed through three machines.
#
#   tools/demo.sh [BUILD]      BUILD: the build directory that holds the program lull (default: build)
#
# Unpacks the bundled trace to BUILD/demo, lists the requests of the client, prints the critical path of the slowest
# POST (the form's vote, which ends in an SQL UPDATE flushed to disk) and draws it.
set -eu

build=${1:-build}
here=$(cd "$(dirname "$0")/.." && pwd)
lull=$build/lull
demo=$build/demo
trace=$demo/django

say() {
    printf '\n%s\n' "$1"
}

show() { # prints a command as it would be typed, and runs it
    printf '\n$ %s\n' "$*"
    "$@"
}

if [ ! -x "$lull" ]; then
    echo "demo: $lull is not there; run make first" >&2
    exit 1
fi

python3 "$here/tools/unpack.py" "$demo" "$here/examples/data/django.tar.xz"

say "Three machines were traced while a Python client asked a Django site, which asks PostgreSQL: client, httpd, db.
Their clocks disagree by seconds. Six times the client gets a form, posts a vote and is sent to the result. Its requests:"
show "$lull" requests "$trace" --host client --port 80

# Packets do not say GET or POST, but a POST carries the form's fields: it is the largest that the client sends.
answer=$("$lull" requests "$trace" --host client --port 80 --json)
slowest=$(printf '%s' "$answer" | python3 -c '
import json, sys
requests = json.load(sys.stdin)["requests"]
if not requests:
    sys.exit("demo: no request of client to port 80 was found")
largest = max(r["bytes_sent"] for r in requests)
print(max((r for r in requests if r["bytes_sent"] == largest), key=lambda r: r["duration_ns"])["id"])')

say "The POSTs are those that send most. What did the slowest of them, request $slowest, wait for?"
show "$lull" critpath "$trace" --request "$slowest" --svg "$demo/critpath.svg"

say "The same as a picture: $demo/critpath.svg"
if "$lull" --version | grep -q 'time view'; then
    say "To walk from wait to wait in the browser:
$lull view $trace --at 'v=tasks,cpus,flow&path=$slowest'"
fi
