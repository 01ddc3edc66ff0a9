#!/usr/bin/env bash
# Builds the image of the Dockerfile and runs it twice on one volume, as docs/operating/README.md
# says, with the first engine that works: docker, podman, buildah. Debian's buildah needs root, but
# no daemon and no control groups: it runs the steps of the Dockerfile in a chroot, and so does this
# script the service. IMAGE_ENGINE names the only engine to try.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

real_base=$(sed -n 's/^FROM \(node:[^ ]*\).*/\1/p' Dockerfile | sort -u)
name=custos-test-$$
image=localhost/$name:image
base=localhost/$name:base
port=$(node -e 'require("net").createServer().listen(0, "127.0.0.1", function () {
  console.log(this.address().port)
  this.close()
})')
url=http://127.0.0.1:$port
export CUSTOS_OPERATOR_KEY=operator-key-of-the-image-test-$RANDOM$RANDOM
CUSTOS_MASTER_KEY=$(node -p 'require("crypto").randomBytes(32).toString("hex")')
export CUSTOS_MASTER_KEY

# Where npm keeps what it has fetched, while the image is built.
NPM_CACHE=/var/cache/npm

# In memory where there is room, like the data of the tests: an image is many small files.
scratch=${TMPDIR:-/var/tmp}
if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 4000000 ]; then scratch=/dev/shm; fi
work=$(mktemp -d "$scratch/custos-image-XXXXXX")
mkdir "$work/base" "$work/data"
engine=()
service=

# Removes what this script made with the engine.
clean_engine() {
  case ${engine[0]:-} in
  docker | podman)
    "${engine[@]}" rm --force "$name" || true
    "${engine[@]}" volume rm --force "$name" || true
    "${engine[@]}" rmi --force "$image" "$base" || true
    ;;
  buildah) "${engine[@]}" rm --all || true ;;
  esac >/dev/null 2>&1
}

clean_up() {
  trap '' INT TERM
  if [ -n "$service" ]; then kill -KILL "$service" || true; fi
  clean_engine
  # Where an engine still has a mount below, its files are not ours to remove.
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

seconds() {
  local now=${EPOCHREALTIME/./}
  printf '== %s: %s.%s s\n' "$1" $(((now - since) / 1000000)) $(((now - since) / 100000 % 10))
  since=$now
}
since=${EPOCHREALTIME/./}

fail() {
  printf 'the image: %s\n' "$1" >&2
  exit 1
}

# Debian's packages that a shell, Node and the commands of the Dockerfile need, into a folder.
fetch_packages() {
  : >"$1/status"
  apt-get -qq -y -o Dir::State::status="$1/status" -o Dir::Cache::archives="$1" \
    -o APT::Sandbox::User=root install --no-install-recommends --download-only \
    libstdc++6 dash coreutils
}

# A folder with what the base image has, as far as it is used: Debian's packages, npm, and the Node
# that `npm ci` has installed, which is of the same version.
make_stand_in() {
  local root=$work/stand-in packages=$work/packages package
  rm -rf "$root" "$packages"
  mkdir -p "$packages/partial" "$root"/{dev,etc,proc,sys,tmp} \
    "$root"/usr/local/{bin,lib/node_modules}
  chmod 1777 "$root/tmp"
  printf '%s\n' 'root:x:0:0::/:/bin/sh' 'node:x:1000:1000::/:/bin/sh' \
    >"$root/etc/passwd"
  printf '%s\n' 'root:x:0:' 'node:x:1000:' >"$root/etc/group"
  fetch_packages "$packages" || { apt-get update -qq && fetch_packages "$packages"; }
  for package in "$packages"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar --extract --directory "$root" \
      --keep-directory-symlink --exclude=./usr/share/{doc,locale,man}
  done
  npm pack --silent --prefer-offline --pack-destination "$packages" npm@11
  tar --extract --file "$packages"/npm-*.tgz --directory "$packages"
  mv "$packages/package" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  cp "node_modules/node-linux-$(node -p process.arch)/bin/node" "$root/usr/local/bin"
  mv "$root" "$work/base/root"
}

# The image that the build starts from: the real one, or a stand-in where no registry is reached. A
# company's own authority goes into it, where this machine trusts one.
make_base() {
  local file=$work/base/Dockerfile
  if "${engine[@]}" inspect --type image "$real_base" >/dev/null 2>&1 ||
    timeout 120 "${engine[@]}" pull "$real_base"; then
    echo "FROM $real_base" >"$file"
  else
    if [ ! -d "$work/base/root" ]; then make_stand_in; fi
    printf '%s\n' 'FROM scratch' 'COPY root /' >"$file"
  fi
  printf 'ENV npm_config_registry=%s npm_config_cache=%s npm_config_prefer_offline=true\n' \
    "$(npm config get registry)" "$NPM_CACHE" >>"$file"
  if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
    cp "$NODE_EXTRA_CA_CERTS" "$work/base/authorities.crt"
    printf '%s\n' 'COPY authorities.crt /etc/authorities.crt' \
      'ENV NODE_EXTRA_CA_CERTS=/etc/authorities.crt' >>"$file"
  fi
  "${engine[@]}" build "${build_options[@]}" --tag "$base" "$work/base"
}

use_engine() {
  engine=("$1")
  # Packages that this machine has fetched before are not fetched again.
  local shared=(--format docker --layers=false --volume "$(npm config get cache):$NPM_CACHE")
  build_options=(--quiet)
  case $1 in
  podman) build_options+=("${shared[@]}") ;;
  buildah)
    build_options+=("${shared[@]}")
    engine+=(--root "$work/storage" --runroot "$work/run")
    export BUILDAH_ISOLATION=chroot
    ;;
  esac
}

# Makes the base with the engine, which fails where the engine does not work: podman can be
# installed where it cannot run a container.
try_engine() {
  command -v "$1" || {
    echo 'not installed'
    return 1
  }
  case $1 in
  docker) docker info ;;
  buildah) unshare --mount true ;;
  esac
  make_base
  if [ "$1" != buildah ]; then "$1" run --rm --init "$base" node --version; fi
}

# Replaces this shell by the service, as the image is configured, in a chroot that it cannot write.
run_in_chroot() {
  local words
  mapfile -t words < <("${engine[@]}" inspect --type image "$image" | node -p '
    const { config } = JSON.parse(fs.readFileSync(0, "utf8")).Docker
    const { User, WorkingDir, Env, Entrypoint, Cmd } = config
    ;[User, `--chdir=${WorkingDir}`, ...Env, ...Entrypoint, ...Cmd].join("\n")')
  exec unshare --mount bash -euc '
    root=$1 data=$2 user=$3
    shift 3
    mount --bind "$root" "$root"
    mount --bind "$data" "$root/data"
    mount --bind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/tmp"
    mount -o remount,bind,ro "$root"
    exec chroot --userspec="$user" --groups= "$root" env -i "$@"
  ' bash "$mounted" "$work/data" "${words[0]}" "${words[1]}" "CUSTOS_PORT=$port" \
    "CUSTOS_OPERATOR_KEY=$CUSTOS_OPERATOR_KEY" "CUSTOS_MASTER_KEY=$CUSTOS_MASTER_KEY" \
    "${words[@]:2}"
}

# A new container on the same volume, by the line of the guide.
start() {
  if [ "${engine[0]}" = buildah ]; then
    mounted=$("${engine[@]}" mount "$("${engine[@]}" from --pull-never "$image")")
    run_in_chroot >"$work/log" 2>&1 &
    service=$!
  else
    local line
    line=$(sed -n 's/^docker run \(.*\) custos:[^ ]*$/\1/p' docs/operating/README.md)
    line=${line/--name custos /--name $name }
    line=${line/--volume custos-data:/--volume $name:}
    line=${line/:8420:/:$port:}
    # shellcheck disable=SC2086
    "${engine[@]}" run $line "$image" >/dev/null
  fi
  for _ in $(seq 300); do
    if curl -fsS -o /dev/null "$url/healthz" 2>/dev/null; then return; fi
    sleep 0.1
  done
  if [ "${engine[0]}" = buildah ]; then cat "$work/log"; else "${engine[@]}" logs "$name"; fi >&2
  fail 'the service does not start'
}

# Runs a script of Node in the container; `service` is the process that it looks at.
inside() {
  if [ "${engine[0]}" = buildah ]; then
    nsenter --target "$service" --mount --root --setuid 1000 --setgid 1000 \
      /usr/local/bin/node -e "const service = $service; $1"
  else
    "${engine[@]}" exec "$name" node -e "const service = 1; $1"
  fi
}

# The service ends by itself when it is told to.
stop() {
  if [ "${engine[0]}" = buildah ]; then
    kill -TERM "$service"
    wait "$service" || fail "the service ended with status $?"
    service=
  else
    "${engine[@]}" stop -t 30 "$name" >/dev/null
    [ "$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] ||
      fail 'the service did not end well'
    "${engine[@]}" rm "$name" >/dev/null
  fi
}

call() {
  curl -fsS -H 'content-type: application/json' -H "authorization: Bearer $1" -X "$2" "$url$3" \
    ${4:+--data "$4"}
}

for candidate in ${IMAGE_ENGINE:-docker podman buildah}; do
  use_engine "$candidate"
  # In a condition the shell would not stop at the first command that fails.
  set +e
  (set -e && try_engine "$candidate") >"$work/log" 2>&1
  status=$?
  set -e
  if [ "$status" = 0 ]; then break; fi
  echo "$candidate does not work here: $(tail -n 1 "$work/log")" >&2
  clean_engine
done
if [ "$status" != 0 ]; then
  if [ -n "${IMAGE_ENGINE:-}" ]; then fail "$IMAGE_ENGINE does not work here"; fi
  echo "NOT CHECKED: THE IMAGE OF THE DOCKERFILE, because no engine works on this machine" >&2
  exit 0
fi
seconds "the base $(sed -n '1s/^FROM scratch$/is a stand-in/p;1s/^FROM node:/is node:/p' \
  "$work/base/Dockerfile"), by ${engine[0]}"

sed "s#^FROM node:[^ ]*#FROM $base#" Dockerfile >"$work/Dockerfile"
"${engine[@]}" build "${build_options[@]}" --file "$work/Dockerfile" --tag "$image" . >"$work/log" \
  2>&1 || { cat "$work/log" >&2; fail 'it cannot be built'; }
seconds 'the image is built'

chown 1000:1000 "$work/data" 2>/dev/null || true
start
key=$(call "$CUSTOS_OPERATOR_KEY" POST /v1/cloud/tenants '{"name":"image"}' |
  node -p 'JSON.parse(fs.readFileSync(0, "utf8")).api_key')
call "$key" POST /v1/stores/default/write '{"content":"the invoice of March is paid"}' >/dev/null
stop
start
found=$(call "$key" POST /v1/stores/default/retrieve '{"query":"invoice","budget_tokens":100}')
[[ $found == *'the invoice of March is paid'* ]] || fail "the memory is lost: $found"
for page in /console/ /verify; do
  curl -fsS -o /dev/null "$url$page" || fail "it has no $page"
done
inside 'const ids = /^Uid:\s+(.*)$/m.exec(fs.readFileSync(`/proc/${service}/status`, "utf8"))[1]
  if (ids.split("\t").some((id) => id !== "1000")) throw new Error(`the service runs as ${ids}`)
  for (const path of ["/written", "/app/written"])
    try {
      fs.writeFileSync(path, "")
      throw new Error(`${path} can be written`)
    } catch (error) {
      if (error.code !== "EROFS") throw error
    }' || fail 'it has rights that it should not have'
stop
seconds 'a memory outlives its container, which is read-only and of user 1000'
