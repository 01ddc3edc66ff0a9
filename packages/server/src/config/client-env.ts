// Settings of the commands that call a running service.

import { read, SETTINGS, type Setting, unknownNames } from './env.ts'

/** Settings of the commands that call a running service. */
export const CLIENT_SETTINGS = [
  {
    name: 'CUSTOS_URL',
    flag: 'url',
    value: 'URL',
    fallback: 'http://127.0.0.1:8420',
    help: 'address of the service',
  },
  {
    name: 'CUSTOS_API_KEY',
    flag: '',
    value: 'KEY',
    fallback: 'none: local mode',
    help: 'credential of a tenant',
  },
  {
    name: 'CUSTOS_OPERATOR_KEY',
    flag: '',
    value: 'KEY',
    fallback: 'none',
    help: 'credential of the operator, for commands about tenants',
  },
] as const satisfies readonly Setting[]

/** Further settings of `custos conformance`. */
export const CONFORMANCE_SETTINGS = [
  {
    name: 'CUSTOS_OTHER_API_KEY',
    flag: 'other-key',
    value: 'KEY',
    fallback: 'none: multi_tenant is not tested',
    help: 'credential of another tenant of the same service',
  },
] as const satisfies readonly Setting[]

/** Further settings of `custos mcp`. MCP's official memory server has this setting too. */
export const MCP_SETTINGS = [
  {
    name: 'MEMORY_FILE_PATH',
    flag: '',
    value: 'FILE',
    fallback: 'none',
    help: 'memory file to import once into an empty graph, with --tools graph or all',
  },
] as const satisfies readonly Setting[]

/** Empty values count as unset. */
export const readClientEnvironment = () => read(CLIENT_SETTINGS)

export const readMcpEnvironment = () => read([...CLIENT_SETTINGS, ...MCP_SETTINGS])

export const readConformanceEnvironment = () => read([...CLIENT_SETTINGS, ...CONFORMANCE_SETTINGS])

/** Names in the environment that no command reads, for example misspelled ones. */
export const unknownSettings = (): string[] =>
  unknownNames([...SETTINGS, ...CLIENT_SETTINGS, ...CONFORMANCE_SETTINGS])
