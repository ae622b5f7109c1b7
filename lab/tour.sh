#!/bin/sh
# A fleet in under a minute: makes lab/topologies/fleet.clab.yml, shows who answers
# each network of clients, drains one node, shows who moved, and ends the lab.
# Run it as root by `make lab-tour`; nothing is left of it.
set -eu
cd "$(dirname "$0")/.."
lab=${TOUR_LAB:-lab/topologies/fleet.clab.yml}
catchment=${TOUR_CATCHMENT:-bin/catchment}
node=msk1
vip=198.51.100.1
[ "$(id -u)" = 0 ] || { echo "making namespaces needs root; write: sudo make lab-tour" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
end() {
  rm -rf "$work"
  $catchment lab down "$lab" 2>/dev/null
}
trap 'exit 130' INT TERM
begun=$(date +%s)
took() { echo $(($(date +%s) - begun)); }

# ask writes "NETWORK NODE" for each network of clients to a file: which node answers it.
ask() {
  seq 1 20 | xargs -P 4 -I N sh -c \
    'echo N "$('"$catchment lab exec $lab"' ispN curl -s --max-time 1 http://'"$vip"'/ 2>/dev/null || echo -)"' | sort -n >"$1"
}

# announcing waits until the centre counts so many nodes, and all networks give the same answers twice in a row.
announcing() {
  tries=0
  ask "$2"
  until $catchment lab exec $lab central catchment fleet status 2>/dev/null | grep -q "^video: $1 of 6 nodes announce" &&
    mv "$2" "$2.before" && ask "$2" && cmp -s "$2" "$2.before" && ! grep -q ' -$' "$2"; do
    tries=$((tries + 1))
    [ "$tries" -le 60 ] || { echo "it does not settle:" >&2; cat "$2" >&2; exit 1; }
    sleep 0.5
  done
}

# table shows the networks by the node that answers them, with a * where that is not the one of an earlier file.
table() {
  printf '  %-6s %-14s %s\n' NODE CITY 'ANSWERS THE CLIENTS OF'
  for pair in msk1:Moscow msk2:Moscow spb1:Petersburg spb2:Petersburg ekb1:Yekaterinburg ekb2:Yekaterinburg; do
    awk -v node="${pair%:*}" -v city="${pair#*:}" '
      NR == FNR { was[$1] = $2; next }
      $2 == node { list = list " AS" 64600 + $1 ($2 == was[$1] ? "" : "*") }
      END { printf "  %-6s %-14s%s\n", node, city, list == "" ? " nobody" : list }' "$1" "$2"
  done
}

cat <<TEXT
A small Internet of real routers on this machine: three transits (FRR, BIRD, OpenBGPD), an exchange with a route server,
20 networks of clients; and in it six nodes in three cities that all announce $vip, with the centre that watches them.
TEXT
$catchment lab up "$lab" >/dev/null
trap 'end || true' EXIT
announcing 6 "$work/before"
echo "It runs after $(took) s. Every network reaches the node that is nearest by its routes:"
echo
table "$work/before" "$work/before"
cat <<TEXT

Somebody must work on $node. It asks the centre whether the fleet can spare it, asks clients to leave, then withdraws:

  $node\$ catchment edge drain video --reason 'a new line card'
TEXT
$catchment lab exec $lab $node catchment edge drain video --reason 'a new line card' >/dev/null
announcing 5 "$work/after"
echo
table "$work/before" "$work/after"
moved=$(join "$work/before" "$work/after" | awk '$2 != $3' | wc -l)
others=$(join "$work/before" "$work/after" | awk -v node=$node '$2 != $3 && $2 != node' | wc -l)
if [ "$others" = 0 ]; then whose="all of them those of $node; the other $((20 - moved)) stayed"; else whose="$others of them not those of $node"; fi
cat <<TEXT

* $moved of 20 networks moved, $whose. This is how the centre
sees it (the loads are made up, a file in each node):

TEXT
$catchment lab exec $lab central catchment fleet status | sed 's/^/  /'
end
trap - EXIT
cat <<TEXT

The lab has ended, after $(took) s, and nothing is left of it. To look around in one of your own:

  bin/catchment lab up $lab
  bin/catchment lab exec $lab isp1 curl http://$vip/
  bin/catchment lab exec $lab $node catchment edge status
  bin/catchment lab exec $lab transit1 vtysh -c 'show bgp ipv4 198.51.100.0/24'
  bin/catchment lab down $lab
TEXT
