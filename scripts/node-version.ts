// The tools need the Node that npm puts beside the project; an older one is told so in one line.

const MAJOR_MIN = 24

/** Ends the process with one line when this Node is too old. */
export function requireNode(): void {
  if (Number(process.versions.node.split('.')[0]) >= MAJOR_MIN) return
  console.error(`Node ${process.versions.node} is too old: run npm ci, then npm test or npm run …`)
  process.exit(1)
}

/** The environment of every process the tools start: the notice of node:sqlite says nothing new. */
export function quietEnvironment(): NodeJS.ProcessEnv {
  const options = [process.env['NODE_OPTIONS'], '--disable-warning=ExperimentalWarning']
  return { ...process.env, NODE_OPTIONS: options.filter(Boolean).join(' ') }
}
