#!/usr/bin/env bash
# checks.sh all | logs | plain: what must be true of the service under a real systemd. Run by session.sh, as a user whose
# home is empty but for ~/.local/bin/situated. Says each check; fails if one does.
set -uo pipefail
mode=${1:?all, logs or plain}
repository=$(cd "$(dirname "$0")/../.." && pwd)
failed=0
unit=situated.service
units=~/.config/systemd/user
vault="$HOME/No tes %d \$x"

check() { # WHAT COMMAND...
  local what=$1 said; shift
  if said=$("$@" 2>&1); then
    echo "ok    $what"
  else
    echo "FAIL  $what"; printf '%s\n' "$said" | sed 's/^/      /'
    failed=1
  fi
}
property() { systemctl --user show "$unit" --property="$1" --value; }
answers() { situated call ping >/dev/null; }
pid() { property MainPID; }
eventually() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; "$@"; }
says() { # TEXT COMMAND...: whatever the command's status
  local text=$1 said; shift
  said=$("$@" 2>&1); grep -qF -- "$text" <<<"$said" || { echo "not said: $text"; echo "$said"; return 1; }
}
fails() { # STATUS TEXT COMMAND...
  local status=$1 text=$2 said got=0; shift 2
  said=$("$@" 2>&1) || got=$?
  [ "$got" = "$status" ] || { echo "status $got, not $status: $said"; return 1; }
  grep -qF -- "$text" <<<"$said" || { echo "not said: $text"; echo "$said"; return 1; }
}
silent() { local said; said=$("$@" 2>&1) && [ -z "$said" ] || { echo "$said"; return 1; }; }
quick() { # MILLISECONDS COMMAND...
  local most=$1 began took; shift
  began=$(date +%s%N); "$@" || return; took=$((($(date +%s%N) - began) / 1000000))
  [ "$took" -lt "$most" ] || { echo "it took $took ms"; return 1; }
}
nothing_left() { local left; left=$(find ~/.config/systemd -type f -o -type l 2>/dev/null); [ -z "$left" ] || { echo "$left"; return 1; }; }
found() { situated search --json Bewuchs | grep -q '"path"'; }

mkdir -p "$vault"
cp -r "$repository"/tests/vault/. "$vault"
situated init "$vault" >/dev/null 2>&1 || { echo "no configuration"; exit 1; }
config=~/.config/situated/config.toml
vaults() { printf '[[vault]]\nname = "notes"\npath = "%s"\n' "$vault"; }

sandbox="system calls filtered, home read-only, own user namespace, no network"
[ "$mode" != plain ] || sandbox="system calls filtered, without the strict part, no network"

if [ "$mode" = all ]; then
  check "a dry run says what it would write" says "X-SituatedVersion=" situated service install --dry-run
  check "and writes nothing" nothing_left
  check "without an installation, status says so" fails 3 "not installed" situated service status
  check "and start, too" fails 69 "service install" situated service start
fi

check "install starts it, and waits until it answers" says "answered after" situated service install
check "a ping is answered" answers
check "a note of the vault is found" eventually found
check "status says how it stands" says "$sandbox" situated service status
check "the socket is 0600 in 0700" test "$(stat -c %a "$XDG_RUNTIME_DIR"/situated/sock "$XDG_RUNTIME_DIR"/situated | tr '\n' ' ')" = "600 700 "
check "system calls are filtered" grep -q '^Seccomp:.*2' "/proc/$(pid)/status"
check "the log is found" says "$(pid_of=$(pid); [ "$mode" = logs ] && echo daemon.log || echo journal)" situated service logs
check "and has the daemon's lines" says "the daemon listens" situated service logs

if [ "$mode" = all ]; then
  check "systemd finds nothing wrong with the unit" silent systemd-analyze verify --user --man=no "$units/$unit"
  mkdir -p ~/units/situated.service.d
  sed "s#/usr/bin/situated#$HOME/.local/bin/situated#" "$repository/systemd/situated.service" >~/units/situated.service
  cp "$repository/systemd/situated-strict.conf" ~/units/situated.service.d/10-sandbox.conf
  cp "$repository/systemd/situated.socket" ~/units
  check "nor with those of the repository" silent systemd-analyze verify --user --man=no ~/units/situated.service ~/units/situated.socket
  check "its exposure is 5.5 at most" systemd-analyze security --user --offline=yes --threshold=55 "$repository/systemd/situated.service"
  check "it is in a user namespace of its own" test "$(readlink "/proc/$(pid)/ns/user")" != "$(readlink /proc/self/ns/user)"
  check "once more changes nothing" says "installed already" situated service install

  before=$(pid)
  check "a reload is told, and keeps the process" sh -c "systemctl --user reload $unit && [ \"\$(systemctl --user show $unit --property=MainPID --value)\" = $before ]"
  check "config reload says that it was read" says "read its configuration again" situated config reload
  echo 'limmit = 3' >>"$config"
  check "a wrong configuration is told, with its place" fails 1 "config.toml" situated config reload
  check "and the old one stays in force" answers
  check "a restart with it fails" fails 78 "configuration" situated service restart
  check "and it is not started again" test "$(property NRestarts) $(property ActiveState)" = "0 failed"
  check "status says why" fails 3 "exit code 78" situated service status
  sed -i '/limmit/d' "$config"
  check "start forgives a failure" says "answered after" situated service start
  check "start once more leaves it" says "runs already" situated service start

  before=$(pid)
  kill -ABRT "$before"
  anew() { [ "$(pid)" != 0 ] && [ "$(pid)" != "$before" ] && answers; }
  check "after a crash it is started again" eventually anew
  check "which status counts" says "restarts" situated service status
  check "a second daemon is refused" fails 75 "another situated is running" situated run
  rm "$XDG_RUNTIME_DIR/situated/sock"
  check "a removed socket is made anew" eventually answers

  check "stop is quick" quick 2000 situated service stop
  check "and clean" test "$(property Result)" = success
  check "then status is 3" fails 3 "not running" situated service status
  check "start starts it" situated service start
  check "and what is stored is found" eventually found

  situated service stop >/dev/null 2>&1; rm -r ~/.local/share/situated
  check "a login starts it though its data folder was removed" systemctl --user start "$unit"
  check "and it indexes again" eventually found

  sed -i 's/^X-SituatedVersion=.*/X-SituatedVersion=0.0.1/' "$units/$unit"
  check "an older unit is told" says "its unit is of 0.0.1" situated service status
  check "and replaced" says "in place of that of situated 0.0.1" situated service install

  odd="$HOME/b in %h \$x"
  mkdir -p "$odd" && mv ~/.local/bin/situated "$odd/situated"
  moved() { "$odd/situated" "$@"; }
  check "a program that moved is told" says "which is gone" moved service status
  check "and not started" fails 69 "which is gone" moved service restart
  check "install makes the unit run it where it is" says "answered after" moved service install
  check "whatever its path holds" test "$(readlink "/proc/$(pid)/exe")" = "$odd/situated"
  mv "$odd/situated" ~/.local/bin/situated
  check "and back" says "answered after" situated service install

  { vaults; printf '[context]\nprovider = "ollama"\nmodel = "none"\n'; } >"$config"
  check "a provider that the sandbox keeps from the network is told" says "may not use the network" situated config reload
  check "install opens it" says "20-network.conf" situated service install
  check "for the network's families" says "AF_INET" systemctl --user show "$unit" --property=RestrictAddressFamilies
  vaults >"$config"
  check "and closes it again" says "removed" situated service install
  check "so that only local sockets are left" test "$(property RestrictAddressFamilies)" = "AF_UNIX"

  check "uninstall removes what install wrote" says "removed" situated service uninstall
  check "and leaves nothing" nothing_left
  check "once more has nothing to do" says "nothing was done" situated service uninstall

  touch ~/in-the-way
  { printf '[serve]\nsocket = "%s"\n' ~/in-the-way; vaults; } >"$config"
  check "an installation that fails says so, with the log" fails 73 "is in the way" situated service install
  check "and is undone" nothing_left
  vaults >"$config"

  situated --quiet run >/dev/null 2>&1 &
  eventually answers
  check "a daemon run by hand is told" fails 75 "situated stop" situated service install
  check "and nothing was written" nothing_left
  situated stop >/dev/null 2>&1; wait

  mkdir -p "$units"
  printf '[Service]\nExecStart=/bin/true\n' >"$units/$unit"
  check "a unit that somebody else wrote is left" fails 73 "--force" situated service install
  check "unless it is forced" says "answered after" situated service install --force
  check "lingering is refused honestly" says "refused" situated service install --linger
  check "without XDG_RUNTIME_DIR it is found all the same" env -u XDG_RUNTIME_DIR situated service status

  situated service stop >/dev/null 2>&1
  mkdir -p "$units" && cp "$repository/systemd/situated.socket" "$units"
  systemctl --user daemon-reload
  systemctl --user start situated.socket && systemctl --user start "$unit"
  ( for _ in $(seq 100); do situated call ping >/dev/null 2>&1 && echo . || echo x; done >~/pings ) &
  pings=$!
  systemctl --user restart "$unit"; systemctl --user restart "$unit"
  wait "$pings"
  check "with a socket unit no ping is lost over two restarts" test "$(grep -c x ~/pings)" = 0
  systemctl --user stop situated.socket "$unit" 2>/dev/null; rm "$units/situated.socket"
fi

check "purge removes the indexes too" situated service uninstall --purge --yes
check "and leaves nothing" nothing_left
check "not even a data folder" test ! -e ~/.local/share/situated
check "but the vault" diff -r "$repository/tests/vault" "$vault"
exit "$failed"
