// The control tables, which only the functions for control rows, jobs, leases and the like use.

import type { PlanName } from '@custos/contract'
import { blob, integer, nullable, tenantId, text } from './columns.ts'

/**
 * `leaving`: being moved to another cluster, and may still return; `left`: moved for good;
 * `arriving`: not served here yet; `arrived`: served here.
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
    /** JSON: limits that replace those of the plan, or null. */
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
    /** Null if it has no name, or a name in clear. */
    name_secret_no: nullable(integer),
    sealed_name: nullable(blob('sealed', 'the name that a tenant gave the key')),
    /** The person who created it; null if unknown. */
    user_id: nullable(text('minted', 'random id')),
    /** When it was last presented, to within a minute; null if never. */
    used_us: nullable(integer),
  },
  /** The namespace that a credential is limited to, and the key that created a token. */
  credential_limits: {
    key_id: text('minted', 'key id'),
    tenant_id: tenantId,
    maker_id: nullable(text('minted', 'key id')),
    secret_no: integer,
    sealed: blob('sealed', 'the namespace; the secret goes with the row when the credential ends'),
    /** When it expires or was revoked; null if it does not end. */
    ends_us: nullable(integer),
  },
  /** The tenant of a checkout, a customer or a subscription of the payment provider. */
  billing_objects: {
    object_id: text('minted', 'id of the payment provider'),
    tenant_id: tenantId,
  },
  /** Events of the payment provider that were processed, without their content. */
  billing_events: {
    event_id: text('minted', 'id of the payment provider'),
    type: text('minted', 'event type of the payment provider'),
    object_id: text('minted', 'id of the payment provider'),
    /** Null if the tenant is unknown. */
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
    /** 1 if it was woken since it last started. */
    woken: nullable(integer),
  },
  leases: {
    name: text('minted', 'names in code'),
    holder: text('minted', 'process id we made'),
    until_us: integer,
  },
  /** One-time tickets that open an event stream; deleted on use. */
  stream_tickets: {
    ticket_hash: blob('digest', 'SHA-256 of a random ticket'),
    tenant_id: tenantId,
    key_id: text('minted', 'key id'),
    path: text('minted', 'path of a stream: names in code and ids we made'),
    expires_us: integer,
    /** Null if it was created with a key. */
    session_id: nullable(text('minted', 'random id')),
  },
  /** Sessions of browsers; deleted when they end. */
  sessions: {
    session_hash: blob('digest', 'SHA-256 of a random cookie'),
    session_id: text('minted', 'random id'),
    /** Null for an operator's session. */
    tenant_id: nullable(text('minted', 'tenant id')),
    /** The id of the person if they signed in without a key. */
    key_id: text('minted', 'key id, or id of a person'),
    created_us: integer,
    /** Rounded to the minute. */
    used_us: integer,
    ends_us: integer,
    /** Null if the session is of a key. */
    user_id: nullable(text('minted', 'random id')),
    /** The connection that the person signed in through, or null. */
    connection_id: nullable(text('minted', 'random id')),
    /** Null if the provider sends none. */
    sid_label: nullable(text('digest', 'HMAC of the id of the session at the provider')),
  },
  /** The connection for its id or a confirmed domain, found before the tenant is known. */
  sso_routes: {
    route: text('caller_label', 'id of a connection, or a domain that is proved to be of one'),
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
  },
  /** Sign-ins that were started, for 10 minutes; deleted on use. */
  sso_logins: {
    state_hash: blob('digest', 'SHA-256 of a random state'),
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    browser_hash: blob('digest', 'SHA-256 of a random cookie'),
    redirect_uri: text('minted', 'address of this service'),
    return_to: text('caller_label', 'page of a console; goes with the row within minutes'),
    /** Null if the callback starts the session itself. */
    challenge: nullable(text('digest', 'SHA-256 of a verifier')),
    created_us: integer,
    expires_us: integer,
  },
  /** One-time codes for consoles of other origins, valid for a minute; deleted on use. */
  sso_codes: {
    code_hash: blob('digest', 'SHA-256 of a random code'),
    tenant_id: tenantId,
    connection_id: text('minted', 'random id'),
    user_id: text('minted', 'random id'),
    sid_label: nullable(text('digest', 'HMAC of the id of the session at the provider')),
    challenge: text('digest', 'SHA-256 of a verifier'),
    expires_us: integer,
  },
  /** The number of a tenant's policy set; no row if it never had policies. */
  policy_sets: {
    tenant_id: tenantId,
    policy_set: integer,
  },
  /** Tenants that are being moved to another cluster, or were moved from or to one. */
  tenant_moves: {
    tenant_id: tenantId,
    move_id: text('minted', 'random id'),
    state: text<MoveState>('enum', 'states of a move'),
    /** Where the tenant is served, or will be. */
    address: text('composed', 'base URL of a cluster as the operator configured it'),
    started_us: integer,
    /** JSON; null until the move is proved. */
    proof: nullable(text('composed', 'counts and digests of rows and keys')),
  },
  /** Tenants that are off-boarded or about to be. */
  destructions: {
    tenant_id: tenantId,
    certificate_id: text('minted', 'certificate id'),
    requested_us: integer,
    /** JSON: the basis and the requester, as the certificate will name them. */
    reasons: text('composed', 'basis and requester as the operator gave them'),
    /** The log position of the last entry; null until it is written. */
    log_seq: nullable(integer),
    destroyed_us: nullable(integer),
    /** The signed certificate; null until it is signed. */
    record: nullable(text('composed', 'signed counts and statuses; reasons as above')),
    /** The job that removes the rows. */
    job_id: nullable(text('minted', 'job id')),
    removed_us: nullable(integer),
  },
}
