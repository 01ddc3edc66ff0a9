// Requires the Node that npm installs beside the project; an older one gets a one-line error.

const MAJOR_MIN = 24

/** Exits with a one-line error if this Node is too old. */
export function requireNode(): void {
  if (Number(process.versions.node.split('.')[0]) >= MAJOR_MIN) return
  console.error(`Node ${process.versions.node} is too old: run npm ci, then npm test or npm run …`)
  process.exit(1)
}

/** The environment for processes that the tools start, without the notice about node:sqlite. */
export function quietEnvironment(): NodeJS.ProcessEnv {
  const options = [process.env['NODE_OPTIONS'], '--disable-warning=ExperimentalWarning']
  return { ...process.env, NODE_OPTIONS: options.filter(Boolean).join(' ') }
}
