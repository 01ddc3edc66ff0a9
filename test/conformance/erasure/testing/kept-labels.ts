// Places whose text is kept in clear by design, each with its reason: no other may be.

/** By `operation place`. */
export const KEPT_LABELS: Readonly<Record<string, string>> = Object.fromEntries([
  ...[
    'memory.write body',
    'memory.write body.options',
    'memory.write_batch body.items[]',
    'memory.write_batch body.items[].options',
    'memory.supersede body',
    'memory.supersede body.options',
    'memory.import body',
  ].flatMap((where) =>
    ['tenant_id', 'namespace'].map((name) => [
      `${where}.${name}`,
      'a namespace is a label the caller partitions a store by; facts are filtered by it',
    ]),
  ),
  ...['store_id', 'model_id'].map((name) => [
    `decisions.log body.${name}`,
    'a label of the decision, listed and filtered by; certificates say it is kept',
  ]),
  ...['memory.delete', 'erasure.issue', 'decisions.redact'].flatMap((operation) =>
    ['legal_basis', 'requested_by'].map((name) => [
      `${operation} body.${name}`,
      'part of the signed certificate for good; the contract says to name no person here',
    ]),
  ),
  ['tenants.create body.name', 'the name the operator gave the tenant'],
  ['keys.create body.name', 'the name the administrator gave the key'],
  ['keys.create body.allowed_stores[]', 'ids of stores a key is limited to'],
])

/** The words of a policy are the tenant's rules, not what is remembered: sealed, and kept. */
export const isPolicyWord = (place: string): boolean =>
  /^governance\.(create|update)_policy body\./.test(place)

/** A request id is the caller's own, made to be found again in the log. */
export const isKeptHeader = (place: string): boolean => place.endsWith(' headers.x-request-id')
