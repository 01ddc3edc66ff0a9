// Every place content can live, and how an erasure reaches it. A test compares this list with the
// tables there are: a new column, cache or queue that is missing here fails it.

export type PlaceKind =
  /** Ciphertext under a key that erasing destroys. */
  | 'sealed'
  /** A hash, a tree node, an HMAC or a commitment under a salt that is itself sealed. */
  | 'digest'
  /** An id, a name or a number this service made. */
  | 'minted'
  /** One of a closed list of words. */
  | 'enum'
  /** A word a caller chose to address things by; documented as kept. */
  | 'caller_label'
  /** Structured text made of the kinds above only, by a closed schema. */
  | 'composed'
  /** Plain text in the memory of the process. */
  | 'memory'
  /** In the hands of somebody else, by the operator's choice: certificates say so. */
  | 'outside'

export interface Place {
  /** `table.column`, or the name of a file, cache or queue. */
  readonly name: string
  readonly kind: PlaceKind
  /** Why no erased content stays there, or what erasing does to it. */
  readonly reach: string
}

const place = (name: string, kind: PlaceKind, reach: string): Place => ({ name, kind, reach })

const TENANT = 'the tenant id we minted'

/** Text and blob columns of the data database; integers hold no content. */
export const dataPlaces: readonly Place[] = [
  place('instance.instance_id', 'minted', 'random id of the keyring the database belongs to'),
  place('tenants.tenant_id', 'minted', TENANT),
  place('tenants.name', 'caller_label', 'the name the operator gave the tenant'),
  place('tenants.plan', 'enum', 'plans of the contract'),
  place('credentials.key_hash', 'digest', 'SHA-256 of a random key'),
  place('credentials.key_id', 'minted', 'key id'),
  place('credentials.tenant_id', 'minted', TENANT),
  place('credentials.class', 'enum', 'credential classes'),
  place('credentials.name', 'caller_label', 'the name the administrator gave the key'),
  place('credentials.prefix', 'minted', 'class part of the key'),
  place('credentials.scopes', 'enum', 'scopes of the contract'),
  place('credentials.allowed_stores', 'minted', 'store ids'),
  place('credentials.max_trust_tier', 'enum', 'trust tiers'),
  place('jobs.job_id', 'minted', 'job id'),
  place('jobs.tenant_id', 'minted', TENANT),
  place('jobs.kind', 'enum', 'job kinds in code'),
  place('jobs.state', 'enum', 'job states'),
  place('jobs.payload', 'composed', 'store id, numbers, legal basis and requester as certified'),
  place('jobs.error', 'minted', 'name of an error class, never its message'),
  place('leases.name', 'minted', 'names in code'),
  place('leases.holder', 'minted', 'process id we made'),
  place('tenant_locks.tenant_id', 'minted', TENANT),
  place('chain_heads.tenant_id', 'minted', TENANT),
  place('chain_heads.frontier', 'digest', 'tree nodes'),
  place('chain_heads.last_id', 'digest', 'leaf hash'),
  place('breadcrumbs.tenant_id', 'minted', TENANT),
  place('breadcrumbs.breadcrumb_id', 'digest', 'leaf hash'),
  place('breadcrumbs.record', 'composed', 'closed payload schemas: ids, integers, enums, digests'),
  place('chain_nodes.tenant_id', 'minted', TENANT),
  place('chain_nodes.hash', 'digest', 'tree node'),
  place('epochs.tenant_id', 'minted', TENANT),
  place('epochs.root_hash', 'digest', 'tree root'),
  place('epochs.checkpoint', 'composed', 'signed note over origin, size and root'),
  place('stores.tenant_id', 'minted', TENANT),
  place('stores.store_id', 'caller_label', 'minted, or the name a store was addressed by'),
  place('stores.sealed', 'sealed', 'name and labels; the secret goes with the store'),
  place('stores.capabilities', 'enum', 'capability flags'),
  place('stores.tokenizer', 'enum', 'tokenizer names'),
  place('stores.embedder', 'enum', 'embedder names'),
  place('stores.state', 'enum', 'store states'),
  place('facts.tenant_id', 'minted', TENANT),
  place('facts.store_id', 'caller_label', 'see stores.store_id'),
  place('facts.namespace', 'caller_label', 'in clear, removed with the row'),
  place(
    'facts.sealed',
    'sealed',
    'content, metadata, vector, provenance; key destroyed, row removed',
  ),
  place('validity.tenant_id', 'minted', TENANT),
  place('validity.store_id', 'caller_label', 'see stores.store_id'),
  place('tombstones.tenant_id', 'minted', TENANT),
  place('tombstones.store_id', 'caller_label', 'see stores.store_id'),
  place('tombstones.certificate_id', 'minted', 'certificate id'),
  place('retrieved_facts.tenant_id', 'minted', TENANT),
  place('retrieved_facts.store_id', 'caller_label', 'see stores.store_id'),
  place('decisions.tenant_id', 'minted', TENANT),
  place(
    'decisions.decision_id',
    'digest',
    'BLAKE2b-128, fixed by the interface; a limit of certificates',
  ),
  place('decisions.store_id', 'caller_label', 'a label of the caller, kept'),
  place('decisions.model_id', 'caller_label', 'a label of the caller, kept'),
  place('decisions.session_label', 'digest', 'HMAC under the tenant label salt'),
  place('decisions.sealed', 'sealed', 'the used facts are part of the key; sealed again, scrubbed'),
  place('decision_facts.tenant_id', 'minted', TENANT),
  place('certificates.tenant_id', 'minted', TENANT),
  place('certificates.certificate_id', 'minted', 'certificate id'),
  place('certificates.subject_kind', 'enum', 'fact or decision'),
  place('certificates.subject', 'minted', 'ref or decision id'),
  place('certificates.outcome', 'enum', 'outcomes'),
  place(
    'certificates.record',
    'composed',
    'salted hash, ids, statuses; basis and requester as given',
  ),
  place('policy_sets.tenant_id', 'minted', TENANT),
  place('policies.tenant_id', 'minted', TENANT),
  place('policies.policy_id', 'minted', 'policy id'),
  place('policies.change', 'enum', 'created, updated or deleted'),
  place('policies.policy_type', 'enum', 'policy types'),
  place('policies.action', 'enum', 'actions'),
  place('policies.seed_key', 'enum', 'keys of the default policies'),
  place('policies.sealed', 'sealed', 'name, description and configuration; no memory is in them'),
  place('policies.changed_by', 'minted', 'key id'),
  place('policy_members.tenant_id', 'minted', TENANT),
  place('policy_members.members', 'composed', 'policy ids and versions'),
  place('policy_counts.tenant_id', 'minted', TENANT),
  place('policy_counts.policy_id', 'minted', 'policy id'),
  place('policy_counts.result', 'enum', 'results'),
  place('evaluations.tenant_id', 'minted', TENANT),
  place('evaluations.evaluation_id', 'minted', 'evaluation id'),
  place('evaluations.operation', 'composed', 'names of our own, or an HMAC of the caller’s'),
  place('evaluations.verdicts', 'enum', 'a letter for each policy'),
  place('evaluations.details', 'composed', 'reason codes, positions and numbers'),
  place('evaluations.request', 'composed', 'lengths, and HMACs under the tenant label salt'),
  place('rate_slots.tenant_id', 'minted', TENANT),
  place('rate_slots.policy_id', 'minted', 'policy id'),
  place('usage.tenant_id', 'minted', TENANT),
  place('usage.period', 'minted', 'month'),
  place('usage.operation', 'enum', 'operation ids'),
  place('idempotency.tenant_id', 'minted', TENANT),
  place('idempotency.key_label', 'digest', 'HMAC under the tenant label salt'),
  place('idempotency.operation', 'enum', 'operation ids'),
  place('idempotency.ids', 'composed', 'ids and numbers a reply is rendered from, never a body'),
  place('idempotency.body_mac', 'digest', 'HMAC under a day key destroyed after 48 h'),
]

/** Text and blob columns of the keyring database. */
export const keyringPlaces: readonly Place[] = [
  place('instance.instance_id', 'minted', 'made at first open'),
  place('instance.master_check', 'digest', 'recognises the master key'),
  place('instance.mac_root', 'sealed', 'wrapped key'),
  place('tenants.tenant_id', 'minted', TENANT),
  place('tenants.tenant_key', 'sealed', 'wrapped key'),
  place('tenants.label_salt', 'sealed', 'wrapped salt'),
  place('secret_blocks.tenant_id', 'minted', TENANT),
  place('secret_blocks.kind', 'enum', 'fact or decision'),
  place('signing_keys.key_id', 'digest', 'of the public key'),
  place('signing_keys.purpose', 'enum', 'signing purposes'),
  place('signing_keys.public_key', 'minted', 'public key'),
  place('signing_keys.seed', 'sealed', 'wrapped seed'),
  place('signing_keys.valid_from', 'minted', 'time'),
  place('signing_keys.retired_at', 'minted', 'time'),
  place('ledger_parts.parts_id', 'minted', 'made for each plan'),
  place('ledger_parts.tenant_id', 'minted', TENANT),
  place('ledger_parts.plan', 'composed', 'ids, counts, ciphertext without the destroyed secrets'),
  place('ledger_renewals.parts_id', 'minted', 'made for each plan'),
  place('ledger_renewals.tenant_id', 'minted', TENANT),
  place('ledger_renewals.box', 'sealed', 'a record secret, under the one destroyed in its favour'),
  place('ledger.tenant_id', 'minted', TENANT),
  place('ledger.subject_kind', 'enum', 'fact, decision, store or scrub'),
  place('ledger.subject', 'minted', 'ref, decision id, store with its secret, or scrub id'),
  place('ledger.store_id', 'caller_label', 'see stores.store_id'),
  place('ledger.destroys', 'composed', 'kinds and numbers of secrets'),
  place('ledger.state', 'enum', 'requested or completed'),
  place(
    'ledger.plan',
    'composed',
    'ids, salted hash without the salt, a redacted decision without the destroyed secret',
  ),
  place('ledger.parts_id', 'minted', 'which parts are its plan'),
  place('ledger.certificate', 'composed', 'see certificates.record'),
  place('ledger_secrets.tenant_id', 'minted', TENANT),
  place('ledger_secrets.kind', 'enum', 'fact or decision'),
  place('checkpoints.tenant_id', 'minted', TENANT),
  place('checkpoints.root_hash', 'digest', 'tree root'),
  place('checkpoints.checkpoint', 'composed', 'signed note'),
]

/** Files, caches and queues outside the two databases. */
export const otherPlaces: readonly Place[] = [
  place('data files and WAL', 'sealed', 'pages of the tables above; secure_delete overwrites them'),
  place('secrets.slots', 'minted', 'random secrets; overwritten in place when destroyed'),
  place('ledger copy', 'composed', 'the ledger rows, as lines'),
  place('backups', 'sealed', 'copies of the above; unreadable once the newest ledger is replayed'),
  place('log lines', 'composed', 'ids, codes and durations'),
  place('store index', 'memory', 'forget() drops the ref at once; other processes by head_seq'),
  place(
    'opened facts',
    'memory',
    'forget() drops the ref at once; shown only beside a live row of the same snapshot',
  ),
  place('open-fact buffers', 'memory', 'zeroed or left to the collector after each answer'),
  place('secret blocks', 'memory', 'destroySecrets wipes them'),
  place('chain head, usage and credential caches', 'memory', 'hold no content'),
  place(
    'units waiting for a commit',
    'memory',
    'a unit that would store an erasing ref is refused',
  ),
  place('refs returned by retrievals, waiting to be recorded', 'memory', 'refs alone'),
  place('counts of near-duplicates', 'memory', 'numbers; word ids while one is being made'),
  place('compiled policies', 'memory', 'configurations; no memory is in them'),
  place('evaluations waiting for a commit', 'memory', 'rows as in the table above'),
  place('job queue', 'composed', 'see jobs.payload'),
  place('tokenizer and embedder', 'memory', 'merge cache off; nothing kept between calls'),
  place(
    'texts being embedded again',
    'memory',
    'forget() stops the batch the ref is in, also what has been sent and not answered',
  ),
  place(
    'embedding service of the embedder http',
    'outside',
    'texts and queries of stores that use it; a limit of certificates',
  ),
]
