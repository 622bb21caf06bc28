#!/bin/sh
# After an installation and after an upgrade. The service is neither enabled nor started by it: first there must be a
# config. A service that runs goes on with the new program.
set -e
if ! getent passwd nudgewire >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/nudgewire --no-create-home --shell /usr/sbin/nologin nudgewire
fi
[ -d /var/lib/nudgewire ] || install -d -o nudgewire -g nudgewire -m 0700 /var/lib/nudgewire
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart nudgewire.service
fi
# The first installation ("configure" without an older version for a deb, 1 for an rpm): later the rights are the operator's.
if [ "$1" = 1 ] || { [ "$1" = configure ] && [ -z "${2:-}" ]; }; then
	chgrp nudgewire /etc/nudgewire/config.yaml
	echo "nudgewire: edit /etc/nudgewire/config.yaml, put its secrets into /etc/nudgewire/environment (NAME=value, mode 600), then: systemctl enable --now nudgewire"
fi
