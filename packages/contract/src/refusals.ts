// Every refusal the service can answer with: stable code, HTTP status, title.

export const refusals = {
  // request shape
  validation: { status: 422, title: 'The request does not match the schema' },
  malformed_json: { status: 422, title: 'The body is not valid JSON' },
  rejected: { status: 422, title: 'The request cannot be accepted as it stands' },
  order_inverted: { status: 422, title: 'A successor must begin after its predecessor' },
  lengths_differ: { status: 422, title: 'Parallel arrays differ in length' },
  capability_not_supported: { status: 422, title: 'The store does not offer this capability' },
  signing_key_refused: { status: 422, title: 'Private keys are never accepted in a request' },
  import_refused: { status: 422, title: 'The import contains a line that cannot be taken' },
  body_too_large: { status: 413, title: 'The body is larger than allowed' },
  unsupported_media_type: { status: 415, title: 'The content type is not supported here' },
  bad_request: { status: 400, title: 'The request could not be read' },
  // who
  unauthenticated: { status: 401, title: 'A valid credential is required' },
  credentials_differ: { status: 401, title: 'Two different credentials were sent' },
  scope_missing: { status: 403, title: 'The credential lacks the required scope' },
  operator_required: { status: 403, title: 'Only a platform operator may do this' },
  tenant_required: { status: 403, title: 'This operation needs a tenant credential' },
  policy_denied: { status: 403, title: 'A policy of the tenant denies this' },
  approval_required: { status: 403, title: 'A policy of the tenant asks for an approval first' },
  origin_refused: { status: 403, title: 'The origin or host is not allowed in local mode' },
  // what
  route_not_found: { status: 404, title: 'No such route' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  tenant_not_found: { status: 404, title: 'No such tenant' },
  key_not_found: { status: 404, title: 'No such key' },
  store_not_found: { status: 404, title: 'No such store' },
  memory_not_found: { status: 404, title: 'No such memory' },
  decision_not_found: { status: 404, title: 'No such decision' },
  certificate_not_found: { status: 404, title: 'No such certificate' },
  epoch_not_found: { status: 404, title: 'No such epoch' },
  job_not_found: { status: 404, title: 'No such job' },
  policy_not_found: { status: 404, title: 'No such policy' },
  // state
  store_deleting: { status: 409, title: 'The store is being deleted' },
  superseded: { status: 409, title: 'The memory has been superseded' },
  erasing: { status: 409, title: 'The memory is being erased' },
  chain_empty: { status: 409, title: 'The chain has no entries yet' },
  idempotency_key_reused: {
    status: 409,
    title: 'The idempotency key was used for another request',
  },
  // load and state of the service
  no_signing_key: { status: 503, title: 'No signing key is available' },
  index_building: { status: 503, title: 'The store is being indexed' },
  storage_full: { status: 503, title: 'Storage is full: the service is read-only' },
  unavailable: { status: 503, title: 'The service cannot answer now' },
  internal: { status: 500, title: 'Internal error' },
} as const satisfies Record<string, { status: number; title: string }>

export type RefusalCode = keyof typeof refusals

/** Refusals any operation may answer with; they need no declaration. */
export const COMMON_REFUSALS = [
  'validation',
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'bad_request',
  'signing_key_refused',
  'unauthenticated',
  'credentials_differ',
  'scope_missing',
  'origin_refused',
  'storage_full',
  'unavailable',
  'internal',
] as const satisfies readonly RefusalCode[]
