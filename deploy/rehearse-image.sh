#!/usr/bin/env bash
# Builds the image of the Dockerfile and runs it, on a machine that has neither Docker nor a registry
# of images: Debian's buildah, on a base that debootstrap and npm provide. Needs root and a network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
IMAGE=custos:rehearsal
PORT=${PORT:-8421}
URL=http://127.0.0.1:$PORT
CERTIFICATES=/etc/ssl/certs/ca-certificates.crt

work=$(mktemp -d)
containers=()
stop() {
  if [ -n "${service:-}" ]; then end; fi
  for container in "${containers[@]}"; do buildah rm "$container" >/dev/null 2>&1 || true; done
  rm -rf "$work"
}
trap stop EXIT

base_image=$(sed -n 's/^FROM \(node:[^ ]*\).*/\1/p' Dockerfile | sort -u)
version=${base_image#node:}
version=${version%%-*}

echo "== a base in place of $base_image"
debootstrap --variant=minbase --include=ca-certificates bookworm "$work/root" \
  http://deb.debian.org/debian >"$work/debootstrap.log"
npm install --silent --no-update-notifier --ignore-scripts --prefix "$work/node" \
  "node-linux-$(node -p process.arch)@$version" npm@11
install -m 755 "$work/node/node_modules/node-linux-$(node -p process.arch)/bin/node" \
  "$work/root/usr/local/bin/node"
mkdir -p "$work/root/usr/local/lib/node_modules"
cp -r "$work/node/node_modules/npm" "$work/root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/root/usr/local/bin/npm"
chroot "$work/root" groupadd --gid 1000 node
chroot "$work/root" useradd --uid 1000 --gid 1000 --create-home node
# A company's own authority, where this machine trusts one.
cp "$CERTIFICATES" "$work/root$CERTIFICATES"
base=$(buildah from scratch)
containers+=("$base")
buildah add -q "$base" "$work/root" / >/dev/null
buildah config --env "NODE_EXTRA_CA_CERTS=$CERTIFICATES" "$base"
buildah commit -q "$base" "docker.io/library/$base_image" >/dev/null

echo '== the image'
buildah build --pull-never --format docker -q -t "$IMAGE" . >/dev/null

mkdir "$work/data"
chown 1000:1000 "$work/data"
service=

# A new container on the same volume.
serve() {
  local container
  container=$(buildah from --pull-never "$IMAGE")
  containers+=("$container")
  buildah run --user 1000:1000 --volume "$work/data:/data" \
    --env "CUSTOS_PORT=$PORT" --env CUSTOS_AUTH=required --env CUSTOS_OPERATOR_KEY="$OPERATOR_KEY" \
    "$container" -- node packages/cli/bin/custos.js serve >"$work/service.log" 2>&1 &
  service=$!
  for _ in $(seq 100); do
    if curl -fsS -o /dev/null "$URL/healthz" 2>/dev/null; then return; fi
    sleep 0.3
  done
  cat "$work/service.log" >&2
  return 1
}

# The process below the engine's own.
innermost() {
  local child
  child=$(pgrep -P "$1" || true)
  if [ -n "$child" ]; then innermost "$child"; else echo "$1"; fi
}

end() {
  kill -TERM "$(innermost "$service")" || true
  wait "$service" || true
  service=
}

call() {
  curl -fsS -H 'content-type: application/json' -H "authorization: Bearer $1" -X "$2" "$URL$3" \
    ${4:+--data "$4"}
}

member() { node -p "JSON.parse(require('fs').readFileSync(0, 'utf8')).$1"; }

OPERATOR_KEY=operator-key-of-the-rehearsal-$RANDOM$RANDOM
echo '== a memory outlives its container'
serve
key=$(call "$OPERATOR_KEY" POST /v1/cloud/tenants '{"name":"rehearsal"}' | member api_key)
call "$key" POST /v1/stores/default/write '{"content":"the invoice of March is paid"}' >/dev/null
end
serve
found=$(call "$key" POST /v1/stores/default/retrieve '{"query":"invoice","budget_tokens":100}')
curl -fsS -o /dev/null "$URL/console/"
curl -fsS -o /dev/null "$URL/verify"
end
case $found in
*'the invoice of March is paid'*) echo 'built, started twice on one volume, nothing lost' ;;
*)
  echo "the memory is lost: $found" >&2
  exit 1
  ;;
esac
