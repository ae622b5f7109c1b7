# What all start scripts share: read with `. /lab/lib.sh`. POSIX sh.
#
# A node is up in three steps, which /run/lab/state names: "waiting" for its
# interfaces and addresses, "running", and "stopped" or "restarting" when its
# daemon is not there. `/lab/daemon stop` and `/lab/daemon start` are for exec.

umask 022
mkdir -p /run/lab
state() { echo "$1" >/run/lab/state.new && mv /run/lab/state.new /run/lab/state; }
say() { echo "lab: $*" >&2; }
warn() { say "warning: $*"; } # lab up tells this, too
fail() { say "$*"; exit 1; }
state waiting

# forward makes the machine a router whose replies may leave by another way than
# the requests came, and IPv6 addresses usable at once. Where /proc/sys cannot be
# written (a container that is not privileged) the settings stay as they are.
forward() {
  refused=
  for setting in ipv4/ip_forward=1 ipv4/conf/all/rp_filter=0 ipv4/conf/default/rp_filter=0 \
    ipv6/conf/all/disable_ipv6=0 ipv6/conf/all/forwarding=1 ipv6/conf/default/accept_dad=0 ipv6/conf/all/accept_dad=0 \
    ipv4/tcp_mtu_probing=1; do
    file=/proc/sys/net/${setting%=*}
    [ "$(cat "$file" 2>/dev/null)" = "${setting#*=}" ] || { echo "${setting#*=}" >"$file"; } 2>/dev/null || refused="$refused ${setting%=*}"
  done
  [ -z "$refused" ] || say "not privileged, so as they are:$refused"
}
forward

# interfaces counts the interfaces of links that are there into count, and addressed those with an address. Many nodes may
# wait at once: neither starts a process while interfaces are missing.
interfaces() {
  set -- /sys/class/net/eth[1-9]*
  count=$#
  [ -e "$1" ] || count=0
}
addressed() {
  interfaces
  [ "$count" -lt "${CLAB_INTFS:-0}" ] || count=$(ip -o addr show scope global | awk '$2 ~ /^eth[1-9]/ && !seen[$2]++ { n++ } END { print n + 0 }')
}

# await COUNTER waits until as many interfaces as the topology has are counted.
await() {
  tries=0
  while "$1" && [ "$count" -lt "${CLAB_INTFS:-0}" ]; do
    tries=$((tries + 1))
    [ "$tries" != 15 ] || say "waits: $count of ${CLAB_INTFS} interfaces ($1); look at links: and exec:"
    [ "$tries" -le 600 ] || fail "after 2 minutes there are $count of ${CLAB_INTFS} interfaces ($1); look at links: and exec:"
    sleep 0.2
  done
}

# serve COMMAND... runs the daemon, calls ready, and starts it again when it ends, until the node ends. children are other
# processes of the node.
serve() {
  trap 'state stopping; trap "" TERM INT; kill -TERM $pid $children 2>/dev/null; wait; exit 0' TERM INT
  while :; do
    if [ ! -e /run/lab/hold ]; then
      "$@" &
      pid=$!
      echo "$pid" >/run/lab/pid
      ready
      state running
      while kill -0 "$pid" 2>/dev/null; do wait "$pid" || code=$?; done
      say "$1 has ended (${code:-0})"
      code=0
    fi
    if [ -e /run/lab/hold ]; then state stopped; else state restarting; fi
    sleep 0.2 &
    wait $! || true
  done
}
children=
ready() { :; }
