#!/usr/bin/env bash
# session.sh USER COMMAND...
#
# Runs a command as USER in a login session with a systemd of its own, on a machine whose first process need not be
# systemd. Needs root. Everything happens in namespaces of its own: /run, the journal and the control groups of the
# machine stay as they are, and all processes end with this one.
#
# JOURNAL=volatile  the journal is kept in memory, where users cannot read it
# WRAP=...          a program to start the manager with
set -euo pipefail
user=${1:?a user}; shift
uid=$(id -u "$user"); gid=$(id -g "$user"); home=$(getent passwd "$user" | cut -d: -f6)

if [ -z "${SESSION_INSIDE:-}" ]; then
  # The group has to be entered before the namespace of groups is made, so that it is the root in there.
  groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
  mounted=
  if [ -z "$groups" ]; then
    groups=$(mktemp -d); mounted=$groups
    mount -t cgroup2 none "$groups"
  fi
  leaf=$groups/situated-test-$$
  mkdir "$leaf"
  echo $$ >"$leaf/cgroup.procs"
  status=0
  SESSION_INSIDE=1 unshare --mount --pid --ipc --cgroup --fork --kill-child --mount-proc --propagation private \
    "$0" "$user" "$@" || status=$?
  echo $$ >"$groups/cgroup.procs"
  find "$leaf" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  if [ -n "$mounted" ]; then umount "$mounted" && rmdir "$mounted"; fi
  exit "$status"
fi

systemd=$(command -v /usr/lib/systemd/systemd || command -v /lib/systemd/systemd)
run=/run/user/$uid

mount -t tmpfs -o mode=755 tmpfs /run
# By the first folder programs know that systemd runs here; the others the system's manager makes for its users'.
mkdir -p /run/systemd/system /run/systemd/unit-root /run/systemd/mount-rootfs /run/systemd/incoming /run/credentials
umount -l -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
install -d -m 700 -o "$uid" -g "$gid" "$run"

mount -t tmpfs tmpfs /var/log
[ "${JOURNAL:-}" = volatile ] || mkdir -p /var/log/journal
mkdir -p /run/log/journal /run/systemd/journal /sys/fs/cgroup/system.slice/journal
touch /run/systemd/journal/flushed
(
  echo "$BASHPID" >/sys/fs/cgroup/system.slice/journal/cgroup.procs
  exec "${systemd%/*}/systemd-journald"
) 2>/dev/null &
for _ in $(seq 100); do [ -S /run/systemd/journal/stdout ] && break; sleep 0.05; done

group=/sys/fs/cgroup/user.slice/user-$uid.slice/user@$uid.service
mkdir -p "$group"
chown "$uid:$gid" "$group" "$group"/cgroup.{procs,subtree_control,threads}

as_user() {
  setpriv --reuid "$uid" --regid "$gid" --init-groups --reset-env \
    env -u LS_COLORS HOME="$home" USER="$user" LOGNAME="$user" XDG_RUNTIME_DIR="$run" \
    PATH="$home/.local/bin:/usr/local/bin:/usr/bin:/bin" "$@"
}
# shellcheck disable=SC2086
(
  echo "$BASHPID" >"$group/cgroup.procs"
  export -f as_user
  exec ${WRAP:-} setpriv --reuid "$uid" --regid "$gid" --init-groups --reset-env \
    env -u LS_COLORS HOME="$home" USER="$user" LOGNAME="$user" XDG_RUNTIME_DIR="$run" \
    PATH=/usr/local/bin:/usr/bin:/bin SYSTEMD_LOG_TARGET=journal "$systemd" --user
) >/dev/null 2>&1 &
manager=$!
for _ in $(seq 200); do
  [ -S "$run/systemd/private" ] && break
  kill -0 "$manager" 2>/dev/null || { echo "the user's systemd does not start" >&2; exit 97; }
  sleep 0.05
done

status=0
as_user "$@" || status=$?
kill -TERM "$manager" 2>/dev/null || true
for _ in $(seq 100); do kill -0 "$manager" 2>/dev/null || break; sleep 0.05; done
exit "$status"
