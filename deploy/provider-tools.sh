#!/usr/bin/env bash
# What do the tests of providers run against? Asterisk 22 and sipp, unpacked from Debian's packages into a folder of their own.
# Debian's stable releases have no Asterisk, so it comes from sid, by the mirror that this machine uses; apt checks signatures.
# Nothing is installed on this machine. The programs run in the folder by chroot, for which root is needed.
set -euo pipefail

release=sid
home=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/asterisk-22
root=$home/root

fail() {
    echo "provider-tools: $1" >&2
    exit 1
}

if [ -e "$home/complete" ]; then
    exit 0
fi
[ "$(id -u)" = 0 ] || fail "Asterisk runs in a folder by chroot: run this as root."
command -v apt-get >/dev/null || fail "Asterisk comes from Debian's packages: run this on a Debian."
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
[ -n "$mirror" ] || fail "no mirror of Debian is configured in apt's sources."

echo "Unpacking Asterisk and sipp into $root; this takes a minute, once."
rm -rf "$home"
mkdir -p "$home"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial} "$root"
: >"$home/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$home/etc/sources.list"
cat >"$home/apt.conf" <<CONF
Dir::State "$home/state";
Dir::State::status "$home/status";
Dir::Cache "$home/cache";
Dir::Etc "$home/etc";
Dir::Etc::sourcelist "sources.list";
Dir::Etc::sourceparts "-";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
CONF
# A mirror that stands still serves an index that has run out; its signature is checked all the same.
export APT_CONFIG=$home/apt.conf
apt-get update -qq || fail "the index of $release could not be read."
apt-get install -qq -y --download-only asterisk asterisk-core-sounds-en-gsm sip-tester >"$home/apt.log" 2>&1 ||
    fail "the packages could not be downloaded: $(tail -n 1 "$home/apt.log")"
for package in "$home"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink
done

# What the packages' own scripts would do, as far as the two programs need it.
for name in bin sbin lib lib64; do
    ln -sfn "usr/$name" "$root/$name"
done
mkdir -p "$root"/{dev,proc,tmp}
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/random" c 1 8
mknod -m 666 "$root/dev/urandom" c 1 9
echo "root:x:0:0:root:/root:/bin/sh" >"$root/etc/passwd"
echo "root:x:0:" >"$root/etc/group"
ln -sfn en_US_f_Allison "$root/usr/share/asterisk/sounds/en"
rm -rf "$home/cache" "$home/state"

version=$(chroot "$root" /usr/sbin/asterisk -V)
[[ $version == "Asterisk 22."* ]] || fail "this is $version, and the tests are for Asterisk 22."
[ -x "$root/usr/bin/sipp" ] || fail "the packages hold no sipp."
touch "$home/complete"
