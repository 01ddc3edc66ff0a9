// Tables of keyring.db. They hold no secret of a fact, decision or day, only its slot.

/** "CstK": distinguishes a keyring from other SQLite files. */
export const APPLICATION_ID = 0x4373744b
/** "CstB": a backup of a keyring, which also holds the slot file. */
export const BACKUP_APPLICATION_ID = 0x43737442
export const SCHEMA_VERSION = 2

/** In an order in which rows can be copied: a row never precedes one that it refers to. */
export const TABLES = [
  'instance',
  'tenants',
  'secret_blocks',
  'signing_keys',
  'day_keys',
  'ledger_parts',
  'ledger_renewals',
  'ledger',
  'ledger_secrets',
  'checkpoints',
] as const

export const SCHEMA = `
CREATE TABLE instance (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  instance_id TEXT NOT NULL,
  master_check BLOB NOT NULL,
  mac_root BLOB NOT NULL,
  slots_end INTEGER NOT NULL,
  day_floor INTEGER NOT NULL
) STRICT;

CREATE TABLE tenants (
  tenant_id TEXT PRIMARY KEY,
  tenant_key BLOB NOT NULL,
  label_salt BLOB NOT NULL
) STRICT;

CREATE TABLE secret_blocks (
  tenant_id TEXT NOT NULL REFERENCES tenants,
  kind TEXT NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  slot INTEGER NOT NULL UNIQUE,
  PRIMARY KEY (tenant_id, kind, first)
) STRICT;

CREATE TABLE signing_keys (
  ordinal INTEGER PRIMARY KEY,
  key_id TEXT NOT NULL UNIQUE,
  purpose TEXT NOT NULL,
  public_key BLOB NOT NULL,
  seed BLOB,
  valid_from TEXT NOT NULL,
  retired_at TEXT
) STRICT;
CREATE UNIQUE INDEX signing_keys_current ON signing_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE day_keys (
  day INTEGER PRIMARY KEY,
  slot INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE ledger (
  ledger_id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL,
  subject_kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  store_id TEXT,
  destroys TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('requested', 'completed')),
  requested_us INTEGER NOT NULL,
  completed_us INTEGER,
  plan TEXT NOT NULL,
  parts_id TEXT,
  parts INTEGER NOT NULL,
  certificate TEXT,
  UNIQUE (tenant_id, subject_kind, subject)
) STRICT;
CREATE INDEX ledger_parts_id ON ledger (parts_id) WHERE parts_id IS NOT NULL;
CREATE INDEX ledger_kind ON ledger (tenant_id, subject_kind, ledger_id);
CREATE INDEX ledger_page ON ledger (tenant_id, ledger_id);
CREATE INDEX ledger_state ON ledger (tenant_id, state);
CREATE INDEX ledger_requested ON ledger (ledger_id) WHERE state = 'requested';

CREATE TABLE ledger_parts (
  parts_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  plan TEXT NOT NULL,
  PRIMARY KEY (parts_id, part)
) STRICT;

CREATE TABLE ledger_renewals (
  parts_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  tenant_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  renewed_as INTEGER NOT NULL,
  box TEXT NOT NULL,
  PRIMARY KEY (parts_id, number)
) STRICT;
CREATE INDEX ledger_renewed_as ON ledger_renewals (tenant_id, renewed_as);

CREATE TABLE ledger_secrets (
  tenant_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, kind, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
  tenant_id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL,
  epoch_number INTEGER NOT NULL,
  tree_size INTEGER NOT NULL,
  root_hash TEXT NOT NULL,
  checkpoint TEXT NOT NULL
) STRICT;

PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${SCHEMA_VERSION};
`
