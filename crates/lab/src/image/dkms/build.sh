# Builds the modules of the source folder /usr/src/$1 for kernel $2 as dkms(8) does, and puts them into /out.
folder=/usr/src/$1
release=$2
value() {
    sed -n "s/^$1=[\"']\{0,1\}\([^\"']*\).*/\1/p" "$folder/dkms.conf" | head -n 1
}
name=$(value PACKAGE_NAME)
version=$(value PACKAGE_VERSION)
mkdir -p /var/lib/dkms /etc/dkms /out
if ! dkms build -m "$name" -v "$version" -k "$release" --kernelsourcedir "/lib/modules/$release/build" --arch x86_64; then
    find /var/lib/dkms -name make.log -exec tail -c 4000000 '{}' ';'
    exit 1
fi
find /var/lib/dkms -name make.log -exec tail -c 4000000 '{}' ';'
find "/var/lib/dkms/$name/$version/$release" -name '*.ko*' -type f -exec cp '{}' /out ';'
