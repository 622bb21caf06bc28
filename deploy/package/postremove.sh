#!/bin/sh
# The data stays, also where the package is purged: it says who was sent what, and nobody else knows.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
[ -d /var/lib/nudgewire ] || exit 0
case "$1" in
remove) echo "nudgewire: the data stays in /var/lib/nudgewire, the config in /etc/nudgewire" ;;
purge | 0) echo "nudgewire: the data stays in /var/lib/nudgewire" ;; # the config goes with the package; rpm keeps one that was edited as .rpmsave
esac
