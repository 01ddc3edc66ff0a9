// The only reader of the environment: names, defaults and what each setting means.

export interface Setting {
  readonly name: string
  readonly flag: string
  readonly value: string
  readonly fallback: string
  readonly help: string
}

/** Every setting of `custos serve`, in the order `--help` shows them. */
export const SETTINGS = [
  {
    name: 'CUSTOS_HOST',
    flag: 'host',
    value: 'ADDRESS',
    fallback: '127.0.0.1',
    help: 'address to listen on',
  },
  {
    name: 'CUSTOS_PORT',
    flag: 'port',
    value: 'PORT',
    fallback: '8420',
    help: 'port to listen on; 0 takes a free one',
  },
  {
    name: 'CUSTOS_DATA_DIR',
    flag: 'data-dir',
    value: 'DIR',
    fallback: './custos-data',
    help: 'directory of the database and the keyring',
  },
  {
    name: 'CUSTOS_DATABASE_URL',
    flag: '',
    value: 'URL',
    fallback: 'none: the embedded engine',
    help: 'PostgreSQL to keep the data in; the data directory is then not used',
  },
  {
    name: 'CUSTOS_KEYRING_URL',
    flag: '',
    value: 'URL',
    fallback: 'beside the data, with a warning',
    help: 'PostgreSQL to keep the keyring in, apart from the data',
  },
  {
    name: 'CUSTOS_DATABASE_POOL',
    flag: 'database-pool',
    value: 'N',
    fallback: '10',
    help: 'connections to PostgreSQL this process may use',
  },
  {
    name: 'CUSTOS_DATABASE_WAIT',
    flag: 'database-wait',
    value: 'SECONDS',
    fallback: '0',
    help: 'how long to try again when PostgreSQL does not answer at the start',
  },
  {
    name: 'CUSTOS_REWRITE_HOURS',
    flag: 'rewrite-hours',
    value: 'N',
    fallback: '24',
    help: 'how often the secrets in PostgreSQL are written anew to shed deleted ones; 0 never',
  },
  {
    name: 'CUSTOS_AUTH',
    flag: 'auth',
    value: 'MODE',
    fallback: 'local on loopback, else required',
    help: 'local (no credential, tenant "local") or required',
  },
  {
    name: 'CUSTOS_OPERATOR_KEY',
    flag: '',
    value: 'KEY',
    fallback: 'none',
    help: 'bootstrap operator credential, 24 characters or more, taken as given',
  },
  {
    name: 'CUSTOS_MASTER_KEY',
    flag: '',
    value: 'HEX',
    fallback: 'generated into the data directory',
    help: 'key of the keyring, 64 hex digits; a must with PostgreSQL',
  },
  {
    name: 'CUSTOS_ORIGIN',
    flag: 'origin',
    value: 'NAME',
    fallback: 'custos/<instance id>',
    help: 'origin line of signed checkpoints, a schema-less URL',
  },
  {
    name: 'CUSTOS_LEDGER_COPY',
    flag: 'ledger-copy',
    value: 'FILE',
    fallback: 'none',
    help: 'copy of the erasure ledger and of signed checkpoints, for another disk',
  },
  {
    name: 'CUSTOS_ALLOWED_HOSTS',
    flag: 'allowed-hosts',
    value: 'LIST',
    fallback: 'loopback names',
    help: 'further Host names and Origins accepted in local mode, comma separated',
  },
  {
    name: 'CUSTOS_EPOCH_SECONDS',
    flag: 'epoch-seconds',
    value: 'N',
    fallback: '3600',
    help: 'how often a checkpoint is signed when there is something new; 0 never',
  },
  {
    name: 'CUSTOS_INDEX_MB',
    flag: 'index-mb',
    value: 'N',
    fallback: '512',
    help: 'memory for search indexes before the least used is dropped',
  },
  {
    name: 'CUSTOS_EMBEDDER',
    flag: 'embedder',
    value: 'NAME',
    fallback: 'static',
    help: 'what makes the vectors of new stores: static, none, http or onnx',
  },
  {
    name: 'CUSTOS_EMBEDDER_URL',
    flag: 'embedder-url',
    value: 'URL',
    fallback: 'none',
    help: 'OpenAI-compatible service of the embedder http; texts and queries are sent to it',
  },
  {
    name: 'CUSTOS_EMBEDDER_MODEL',
    flag: 'embedder-model',
    value: 'NAME',
    fallback: 'none',
    help: 'model to ask that service for',
  },
  {
    name: 'CUSTOS_EMBEDDER_KEY',
    flag: '',
    value: 'KEY',
    fallback: 'none',
    help: 'credential sent to that service',
  },
  {
    name: 'CUSTOS_EMBEDDER_DIMENSIONS',
    flag: 'embedder-dimensions',
    value: 'N',
    fallback: 'none',
    help: 'numbers in a vector of that model, up to 4096',
  },
  {
    name: 'CUSTOS_EMBEDDER_TIMEOUT',
    flag: 'embedder-timeout',
    value: 'MS',
    fallback: '5000',
    help: 'milliseconds a write or a retrieval waits for that service before it goes on without',
  },
  {
    name: 'CUSTOS_ONNX_MODEL',
    flag: 'onnx-model',
    value: 'FILE',
    fallback: 'none',
    help: 'model of the embedder onnx; needs the package onnxruntime-node',
  },
  {
    name: 'CUSTOS_ONNX_TOKENIZER',
    flag: 'onnx-tokenizer',
    value: 'FILE',
    fallback: 'none',
    help: 'vocab.txt or tokenizer.json (WordPiece) of that model',
  },
  {
    name: 'CUSTOS_LOG_LEVEL',
    flag: 'log-level',
    value: 'LEVEL',
    fallback: 'info',
    help: 'silent, error, warn or info',
  },
] as const satisfies readonly Setting[]

/** Settings of the commands that talk to a running service. */
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

/** What `custos conformance` reads beside them. */
export const CONFORMANCE_SETTINGS = [
  {
    name: 'CUSTOS_OTHER_API_KEY',
    flag: 'other-key',
    value: 'KEY',
    fallback: 'none: multi_tenant cannot be judged',
    help: 'credential of another tenant of the same service',
  },
] as const satisfies readonly Setting[]

export type ClientEnvironment = Readonly<
  Partial<Record<(typeof CLIENT_SETTINGS)[number]['name'], string>>
>

export type SettingName = (typeof SETTINGS)[number]['name']
export type Environment = Readonly<Partial<Record<SettingName, string>>>

/** The process environment, read once at start. */
export const readEnvironment = (): Environment => read(SETTINGS)

export const readClientEnvironment = (): ClientEnvironment => read(CLIENT_SETTINGS)

export const readConformanceEnvironment = () => read([...CLIENT_SETTINGS, ...CONFORMANCE_SETTINGS])

function read<N extends string>(settings: readonly { readonly name: N }[]) {
  const found: Partial<Record<N, string>> = {}
  for (const { name } of settings) {
    const value = process.env[name]
    if (value !== undefined && value !== '') found[name] = value
  }
  return found
}

/** `--help` lines for the settings. */
export const settingsHelp = (settings: readonly Setting[] = SETTINGS): string =>
  settings
    .map(({ name, flag, value, fallback, help }) => {
      const left = flag === '' ? name : `--${flag} ${value}, ${name}`
      return `  ${left}\n      ${help} (default: ${fallback})`
    })
    .join('\n')
