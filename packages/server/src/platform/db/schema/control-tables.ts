// The control tables: reached only through `control.sql.ts`, jobs, leases, tickets, destructions.

import type { PlanName } from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

/**
 * `leaving`: to another cluster, and it may come back; `left`: for good; `arriving`: not served
 * here yet; `arrived`: served here.
 */
export type MoveState = 'leaving' | 'left' | 'arriving' | 'arrived'

export const controlTables = {
  instance: {
    instance_id: text('minted', 'random id of the keyring the database belongs to'),
  },
  tenants: {
    tenant_id: tenantId,
    name: text('caller_label', 'the name the operator gave the tenant'),
    plan: text<PlanName | 'local'>('enum', 'plans of the contract, and that of local mode'),
    created_us: integer,
    /** JSON: limits that replace those of the plan; null: none do. */
    overrides: nullable(text('composed', 'numbers by names of limits')),
  },
  credentials: {
    key_hash: blob('digest', 'SHA-256 of a random key'),
    key_id: text('minted', 'key id'),
    tenant_id: nullable(text('minted', 'tenant id')),
    class: text('enum', 'credential classes'),
    name: text(
      'caller_label',
      'names of operators’ keys, and of keys made before they were sealed',
    ),
    prefix: text('minted', 'class part of the key'),
    scopes: text('enum', 'scopes of the contract'),
    allowed_stores: text('minted', 'store ids'),
    max_trust_tier: nullable(text('enum', 'trust tiers')),
    created_us: integer,
    expires_us: nullable(integer),
    revoked_us: nullable(integer),
    /** Null: it has no name, or one in clear. */
    name_secret_no: nullable(integer),
    sealed_name: nullable(blob('sealed', 'the name that a tenant gave the key')),
    /** The person who made it; null: nobody known. */
    user_id: nullable(text('minted', 'random id')),
    /** When it was last presented, at most a minute late; null: never. */
    used_us: nullable(integer),
  },
  /** What a credential with a namespace is limited to, and the key that made a token. */
  credential_limits: {
    key_id: text('minted', 'key id'),
    tenant_id: tenantId,
    maker_id: nullable(text('minted', 'key id')),
    secret_no: integer,
    sealed: blob('sealed', 'the namespace; the secret goes with the row when the credential ends'),
    /** When it expires or was revoked; null: it does not end. */
    ends_us: nullable(integer),
  },
  /** Which tenant a checkout, a customer or a subscription of the payment provider is of. */
  billing_objects: {
    object_id: text('minted', 'id of the payment provider'),
    tenant_id: tenantId,
  },
  /** Events of the payment provider that were taken, without what they said. */
  billing_events: {
    event_id: text('minted', 'id of the payment provider'),
    type: text('minted', 'event type of the payment provider'),
    object_id: text('minted', 'id of the payment provider'),
    /** Null: of no tenant that is known. */
    tenant_id: nullable(text('minted', 'tenant id')),
    created_us: integer,
  },
  jobs: {
    job_id: text('minted', 'job id'),
    tenant_id: tenantId,
    kind: text('enum', 'job kinds in code'),
    state: text('enum', 'job states'),
    payload: text('composed', 'ids, numbers, legal basis and requester as certified'),
    progress_done: integer,
    progress_total: integer,
    attempts: integer,
    error: nullable(text('minted', 'name of an error class, never its message')),
    created_us: integer,
    updated_us: integer,
    lease_until_us: integer,
    /** 1: it was woken since it was last begun. */
    woken: nullable(integer),
  },
  leases: {
    name: text('minted', 'names in code'),
    holder: text('minted', 'process id we made'),
    until_us: integer,
  },
  /** One-time tickets that open an event stream; one is deleted when it is used. */
  stream_tickets: {
    ticket_hash: blob('digest', 'SHA-256 of a random ticket'),
    tenant_id: tenantId,
    key_id: text('minted', 'key id'),
    path: text('minted', 'path of a stream: names in code and ids we made'),
    expires_us: integer,
    /** Null: it was made with a key. */
    session_id: nullable(text('minted', 'random id')),
  },
  /** Sessions of browsers; one is deleted when it ends. */
  sessions: {
    session_hash: blob('digest', 'SHA-256 of a random cookie'),
    session_id: text('minted', 'random id'),
    /** Null: an operator's. */
    tenant_id: nullable(text('minted', 'tenant id')),
    /** That of the person where one is signed in without a key. */
    key_id: text('minted', 'key id, or id of a person'),
    created_us: integer,
    /** To the minute. */
    used_us: integer,
    ends_us: integer,
    /** Null: the session is that of a key. */
    user_id: nullable(text('minted', 'random id')),
    /** The connection that the person signed in through; null: none. */
    connection_id: nullable(text('minted', 'random id')),
    /** Null: the provider names none. */
    sid_label: nullable(text('digest', 'HMAC of the id of the session at the provider')),
  },
  /** Which connection an id or a confirmed domain leads to, before the tenant is known. */
  sso_routes: {
    route: text('caller_label', 'id of a connection, or a domain that is proved to be of one'),
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
  },
  /** Sign-ins under way, for 10 minutes; one is deleted when it is used. */
  sso_logins: {
    state_hash: blob('digest', 'SHA-256 of a random state'),
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    browser_hash: blob('digest', 'SHA-256 of a random cookie'),
    redirect_uri: text('minted', 'address of this service'),
    return_to: text('caller_label', 'page of a console; goes with the row within minutes'),
    /** Null: the session begins in the callback. */
    challenge: nullable(text('digest', 'SHA-256 of a verifier')),
    created_us: integer,
    expires_us: integer,
  },
  /** One-time codes of consoles of other origins, for a minute; one is deleted when it is used. */
  sso_codes: {
    code_hash: blob('digest', 'SHA-256 of a random code'),
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    user_id: text('minted', 'random id'),
    sid_label: nullable(text('digest', 'HMAC of the id of the session at the provider')),
    challenge: text('digest', 'SHA-256 of a verifier'),
    expires_us: integer,
  },
  /** The number of a tenant's policies as a whole; absent: it never had one. */
  policy_sets: {
    tenant_id: tenantId,
    policy_set: integer,
  },
  /** Tenants that are being moved to another cluster, came from one or went to one. */
  tenant_moves: {
    tenant_id: tenantId,
    move_id: text('minted', 'random id'),
    state: text<MoveState>('enum', 'states of a move'),
    /** Where the tenant is, or will be, served. */
    address: text('composed', 'base URL of a cluster as the operator configured it'),
    started_us: integer,
    /** JSON; null: not proved yet. */
    proof: nullable(text('composed', 'counts and digests of rows and keys')),
  },
  /** Tenants that are off-boarded, or about to be. */
  destructions: {
    tenant_id: tenantId,
    certificate_id: text('minted', 'certificate id'),
    requested_us: integer,
    /** JSON: the basis and who asked, as they will be certified. */
    reasons: text('composed', 'basis and requester as the operator gave them'),
    /** The log position of the last entry; null: not there yet. */
    log_seq: nullable(integer),
    destroyed_us: nullable(integer),
    /** The signed certificate; null: not signed yet. */
    record: nullable(text('composed', 'signed counts and statuses; reasons as above')),
    /** Removes the rows. */
    job_id: nullable(text('minted', 'job id')),
    removed_us: nullable(integer),
  },
}
