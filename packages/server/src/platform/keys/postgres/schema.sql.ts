// Tables of a keyring on PostgreSQL, and the migrations that create them.

import { KeyringError } from '../keyring-error.ts'
import type { KeyringPg, PgQueries, PgTx } from './keyring-pg.ts'
import { isRefusal } from './pg-errors.ts'

interface Migration {
  readonly name: string
  readonly sql: string
}

// Text is compared bytewise, whatever the collation of the database.
const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001-keyring',
    sql: `
CREATE TABLE keyring.instance (
  singleton bigint PRIMARY KEY CHECK (singleton = 1),
  instance_id text COLLATE "C" NOT NULL,
  master_check bytea NOT NULL,
  mac_root bytea NOT NULL,
  day_floor bigint NOT NULL
);

CREATE TABLE keyring.counters (
  name text COLLATE "C" PRIMARY KEY,
  value bigint NOT NULL
);
INSERT INTO keyring.counters VALUES ('ledger', 0), ('destroyed', 0);

CREATE TABLE keyring.processes (
  process_id text COLLATE "C" PRIMARY KEY,
  seen_at timestamptz NOT NULL
);

CREATE TABLE keyring.tenants (
  tenant_id text COLLATE "C" PRIMARY KEY,
  tenant_key bytea NOT NULL,
  label_salt bytea NOT NULL
);

CREATE TABLE keyring.wrap_keys (
  tenant_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  wrap_key bytea NOT NULL,
  PRIMARY KEY (tenant_id, version)
);

CREATE TABLE keyring.secret_blocks (
  tenant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  first bigint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (tenant_id, kind, first)
);

CREATE TABLE keyring.secrets (
  tenant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  version bigint NOT NULL,
  secret bytea NOT NULL,
  PRIMARY KEY (tenant_id, kind, number)
);

CREATE TABLE keyring.destroyed_secrets (
  seq bigint PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  number bigint NOT NULL
);

CREATE TABLE keyring.signing_keys (
  ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key_id text COLLATE "C" NOT NULL UNIQUE,
  purpose text COLLATE "C" NOT NULL,
  public_key bytea NOT NULL,
  seed bytea,
  valid_from text COLLATE "C" NOT NULL,
  retired_at text COLLATE "C"
);
CREATE UNIQUE INDEX signing_keys_current ON keyring.signing_keys (purpose)
  WHERE retired_at IS NULL;

CREATE TABLE keyring.ledger (
  ledger_id bigint PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  subject_kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  store_id text COLLATE "C",
  destroys text NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('requested', 'completed')),
  requested_us bigint NOT NULL,
  completed_us bigint,
  plan text NOT NULL,
  parts_id text COLLATE "C",
  parts bigint NOT NULL,
  certificate text,
  UNIQUE (tenant_id, subject_kind, subject)
);
CREATE INDEX ledger_parts_id ON keyring.ledger (parts_id) WHERE parts_id IS NOT NULL;
CREATE INDEX ledger_kind ON keyring.ledger (tenant_id, subject_kind, ledger_id);
CREATE INDEX ledger_page ON keyring.ledger (tenant_id, ledger_id);
CREATE INDEX ledger_state ON keyring.ledger (tenant_id, state);
CREATE INDEX ledger_requested ON keyring.ledger (ledger_id) WHERE state = 'requested';

CREATE TABLE keyring.ledger_turns (
  tenant_id text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL
);

CREATE TABLE keyring.ledger_parts (
  parts_id text COLLATE "C" NOT NULL,
  part bigint NOT NULL,
  tenant_id text COLLATE "C" NOT NULL,
  plan text NOT NULL,
  process_id text COLLATE "C",
  PRIMARY KEY (parts_id, part)
);

CREATE TABLE keyring.ledger_renewals (
  parts_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  tenant_id text COLLATE "C" NOT NULL,
  part bigint NOT NULL,
  renewed_as bigint NOT NULL,
  box text NOT NULL,
  PRIMARY KEY (parts_id, number)
);
CREATE INDEX ledger_renewed_as ON keyring.ledger_renewals (tenant_id, renewed_as);

CREATE TABLE keyring.ledger_secrets (
  tenant_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (tenant_id, kind, number)
);

CREATE TABLE keyring.checkpoints (
  tenant_id text COLLATE "C" PRIMARY KEY,
  generation bigint NOT NULL,
  epoch_number bigint NOT NULL,
  tree_size bigint NOT NULL,
  root_hash text COLLATE "C" NOT NULL,
  checkpoint text COLLATE "C" NOT NULL
);
`,
  },
]

/** Another process was creating the same object. */
const CREATED_MEANWHILE = ['23505', '42P06', '42P07']
const INSUFFICIENT_PRIVILEGE = '42501'
const ATTEMPTS_MAX = 3

/**
 * Creates the schema or migrates it; returns true if there was something to do. Throws
 * `unsupported_version` if the role may not, or a newer version has changed the schema.
 */
export async function migrateSchema(db: KeyringPg): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await migrate(db)
    } catch (error) {
      if (isRefusal(error, INSUFFICIENT_PRIVILEGE))
        throw new KeyringError(
          'unsupported_version',
          `this role has no rights to it: ${lacking(db)}`,
        )
      if (attempt >= ATTEMPTS_MAX || !isRefusal(error, ...CREATED_MEANWHILE)) throw error
    }
  }
}

/** Throws `keyring_damaged` if there is no keyring, `unsupported_version` if it is an older one. */
export async function requireSchema(db: KeyringPg): Promise<void> {
  const applied = await findApplied(db)
  if (applied === null) throw new KeyringError('keyring_damaged', lacking(db))
  if (missingIn(db, applied).length > 0) throw new KeyringError('unsupported_version', lacking(db))
}

async function migrate(db: KeyringPg): Promise<boolean> {
  const applied = await findApplied(db)
  if (applied && missingIn(db, applied).length === 0) return false
  await db.transact(async (tx) => {
    if (applied === null) await createMigrations(tx, db.schema)
    // If several processes start at once, one migrates and the others find it done.
    await tx.execute('LOCK TABLE keyring.migrations IN ACCESS EXCLUSIVE MODE')
    for (const { name, sql } of missingIn(db, await listApplied(tx))) {
      await tx.execute(sql)
      await tx.execute('INSERT INTO keyring.migrations (name) VALUES ($1)', name)
    }
  })
  return true
}

async function createMigrations(tx: PgTx, schema: string): Promise<void> {
  const found = await tx.queryFirst(
    'SELECT 1 AS found FROM pg_namespace WHERE nspname = $1',
    schema,
  )
  // IF NOT EXISTS would need the right to create schemas even if the schema exists.
  if (!found) await tx.execute(`CREATE SCHEMA "${schema}"`)
  await tx.execute(
    'CREATE TABLE IF NOT EXISTS keyring.migrations (name text COLLATE "C" PRIMARY KEY)',
  )
}

async function findApplied(db: KeyringPg): Promise<string[] | null> {
  const name = `"${db.schema}".migrations`
  const row = await db.queryFirst<{ found: string | null }>(
    'SELECT to_regclass($1)::text AS found',
    name,
  )
  return row?.found == null ? null : listApplied(db)
}

async function listApplied(db: PgQueries): Promise<string[]> {
  const rows = await db.query<{ name: string }>('SELECT name FROM keyring.migrations ORDER BY name')
  return rows.map(({ name }) => name)
}

function missingIn({ schema }: KeyringPg, applied: readonly string[]): Migration[] {
  const unknown = applied.find((name) => !MIGRATIONS.some((one) => one.name === name))
  if (unknown !== undefined)
    throw new KeyringError(
      'unsupported_version',
      `the keyring in the schema ${schema} has ${unknown}, newer than this version`,
    )
  return MIGRATIONS.filter(({ name }) => !applied.includes(name))
}

function lacking({ schema }: KeyringPg): string {
  return `the schema ${schema} needs \`custos migrate\` to hold the keyring of this version`
}
