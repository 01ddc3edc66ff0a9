# The service in a container: packages from the lockfile, the pages, no secrets.

# The pages and the command are built, then what only their bundlers need is removed.
FROM node:24.21.0-bookworm-slim AS built
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/adapters/package.json packages/adapters/
COPY packages/cli/package.json packages/cli/
COPY packages/client/package.json packages/client/
COPY packages/conformance/package.json packages/conformance/
COPY packages/console/package.json packages/console/
COPY packages/contract/package.json packages/contract/
COPY packages/embeddings/package.json packages/embeddings/
COPY packages/mcp/package.json packages/mcp/
COPY packages/pii/package.json packages/pii/
COPY packages/proof/package.json packages/proof/
COPY packages/report-files/package.json packages/report-files/
COPY packages/server/package.json packages/server/
COPY packages/verify-page/package.json packages/verify-page/
# Only what the service and its bundlers need: the project's own tools stay out.
RUN npm ci --ignore-scripts --no-audit --no-fund \
    --workspace=packages/cli --workspace=packages/console --workspace=packages/verify-page
COPY packages packages
RUN node packages/verify-page/build.ts && node packages/console/build.ts \
 && node packages/cli/build.ts \
 && npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-bookworm-slim
WORKDIR /app
COPY LICENSE package.json package-lock.json ./
COPY --from=built /app/node_modules node_modules
# Times are kept: the entry point runs what was built where that is newer than the sources.
COPY --from=built /app/packages packages
# Mount points: the embedded engine's data, and the copy of the erasure ledger.
RUN install --directory --owner=node --group=node --mode=0700 /data /ledger
ENV NODE_ENV=production \
    CUSTOS_HOST=0.0.0.0 \
    CUSTOS_DATA_DIR=/data
# The user node, by number: so a cluster can tell that it is not root.
USER 1000:1000
EXPOSE 8420
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.CUSTOS_PORT || 8420) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "packages/cli/bin/custos.js"]
CMD ["serve"]
