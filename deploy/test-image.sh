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

# Not in /tmp, which can be small: it holds an image.
work=$(mktemp -d "${TMPDIR:-/var/tmp}/custos-image-XXXXXX")
mkdir "$work/base" "$work/data"
engine=()
service=

clean_up() {
  trap '' INT TERM
  if [ -n "$service" ]; then kill -KILL "$service" || true; fi
  case ${engine[0]:-} in
  docker | podman)
    "${engine[@]}" rm --force "$name" || true
    "${engine[@]}" volume rm --force "$name" || true
    "${engine[@]}" rmi --force "$image" "$base" || true
    ;;
  buildah) "${engine[@]}" rm --all || true ;;
  esac >/dev/null 2>&1
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

# A folder with what the base image has, as far as it is used: Debian's packages, Node and npm.
make_stand_in() {
  local root=$work/base/root packages=$work/packages version=${real_base#node:}
  mkdir -p "$packages/partial" "$root/etc" "$root/usr/local/lib" "$root/usr/local/bin" \
    "$root"/{dev,proc,sys,tmp,root}
  : >"$packages/status"
  apt-get -qq -y -o Dir::State::status="$packages/status" -o Dir::Cache::archives="$packages" \
    -o APT::Sandbox::User=root install --no-install-recommends --download-only \
    libstdc++6 dash coreutils
  for package in "$packages"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" |
      tar --extract --keep-directory-symlink --directory "$root"
  done
  chmod 1777 "$root/tmp"
  printf '%s\n' 'root:x:0:0::/root:/bin/sh' 'node:x:1000:1000::/home/node:/bin/sh' \
    >"$root/etc/passwd"
  printf '%s\n' 'root:x:0:' 'node:x:1000:' >"$root/etc/group"
  npm install --silent --no-update-notifier --ignore-scripts --prefer-offline \
    --prefix "$packages" "node-linux-$(node -p process.arch)@${version%%-*}" npm@11
  mv "$packages/node_modules/node-linux-$(node -p process.arch)/bin/node" "$root/usr/local/bin/node"
  mv "$packages/node_modules" "$root/usr/local/lib/node_modules"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
}

# The image that the build starts from: the real one, or a stand-in where no registry is reached. A
# company's own authority goes into it, where this machine trusts one.
make_base() {
  local file=$work/base/Dockerfile
  if "${engine[@]}" pull "$real_base" >/dev/null 2>&1; then
    echo "FROM $real_base" >"$file"
  else
    echo "the base is a stand-in made of Debian's packages: $real_base cannot be pulled"
    [ -d "$work/base/root" ] || make_stand_in || return 1
    printf '%s\n' 'FROM scratch' 'COPY root /' >"$file"
  fi
  if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
    cp "$NODE_EXTRA_CA_CERTS" "$work/base/authorities.crt"
    printf '%s\n' 'COPY authorities.crt /etc/authorities.crt' \
      'ENV NODE_EXTRA_CA_CERTS=/etc/authorities.crt' >>"$file"
  fi
  "${engine[@]}" build "${build_options[@]}" --tag "$base" "$work/base"
}

# Whether the engine works here; podman may be installed where it cannot run a container.
try_engine() {
  command -v "$1" >/dev/null || return 1
  engine=("$1")
  build_options=(--quiet)
  # Packages that this machine has fetched before are not fetched again.
  local cache
  cache=$(npm config get cache)
  case $1 in
  docker) docker info >/dev/null 2>&1 && make_base ;;
  podman)
    build_options+=(--format docker --layers=false --volume "$cache:/root/.npm")
    make_base && podman run --rm --init "$base" node --version
    ;;
  buildah)
    [ "$(id -u)" = 0 ] && unshare --mount true || return 1
    export BUILDAH_ISOLATION=chroot
    engine+=(--root "$work/storage" --runroot "$work/run")
    build_options+=(--format docker --layers=false --volume "$cache:/root/.npm")
    make_base
    ;;
  esac
}

find_engine() {
  local candidate
  for candidate in ${IMAGE_ENGINE:-docker podman buildah}; do
    if try_engine "$candidate" >"$work/log" 2>&1; then return; fi
    sed "s/^/$candidate: /" "$work/log" >&2
  done
  return 1
}

# Replaces this shell by the service, as the image is configured, in a chroot that it cannot write.
run_in_chroot() {
  local words
  mapfile -t words < <("${engine[@]}" inspect --type image "$image" | node -p '
    const { config } = JSON.parse(fs.readFileSync(0, "utf8")).Docker
    const { User, WorkingDir, Env, Entrypoint, Cmd } = config
    ;[User, `--chdir=${WorkingDir}`, ...Env, ...Entrypoint, ...Cmd].join("\n")')
  # shellcheck disable=SC2016
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
  ' bash "$root" "$work/data" "${words[0]}" "${words[1]}" "CUSTOS_PORT=$port" \
    "CUSTOS_OPERATOR_KEY=$CUSTOS_OPERATOR_KEY" "CUSTOS_MASTER_KEY=$CUSTOS_MASTER_KEY" \
    "${words[@]:2}"
}

# A new container on the same volume, by the line of the guide.
start() {
  if [ "${engine[0]}" = buildah ]; then
    root=$("${engine[@]}" mount "$("${engine[@]}" from --pull-never "$image")")
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
    "${engine[@]}" stop --time 30 "$name" >/dev/null
    [ "$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] ||
      fail 'the service did not end well'
    "${engine[@]}" rm "$name" >/dev/null
  fi
}

call() {
  curl -fsS -H 'content-type: application/json' -H "authorization: Bearer $1" -X "$2" "$url$3" \
    ${4:+--data "$4"}
}

if ! find_engine; then
  echo "NOT CHECKED: THE IMAGE OF THE DOCKERFILE, because none of these works on this machine:" \
    "${IMAGE_ENGINE:-docker, podman, buildah as root}" >&2
  exit 0
fi
seconds "a base for ${engine[0]}"

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
