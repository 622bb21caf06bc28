#!/bin/sh
# Before the program goes; an upgrade is none of its business ("upgrade" for a deb, 1 for an rpm).
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ ! -d /run/systemd/system ] || systemctl disable --now nudgewire.service
