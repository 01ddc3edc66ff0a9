// Places whose text is kept in clear by design, each with its reason: no other may be.

/** By `operation place`. */
export const KEPT_LABELS: Readonly<Record<string, string>> = Object.fromEntries([
  ...[
    'memory.write body',
    'memory.write body.options',
    'memory.write_batch body.items[]',
    'memory.write_batch body.items[].options',
    'memory.ingest body',
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
  ...['store_id', 'model_id'].map((name) => [
    `orchestrator.begin_step body.${name}`,
    'a label of the step and of its decision; certificates say it is kept',
  ]),
  ...['memory.delete', 'erasure.issue', 'subjects.erase', 'decisions.redact'].flatMap((operation) =>
    ['legal_basis', 'requested_by'].map((name) => [
      `${operation} body.${name}`,
      'part of the signed certificate for good; the contract says to name no person here',
    ]),
  ),
  ...['legal_basis', 'requested_by'].map((name) => [
    `offboarding.destroy_key body.${name}`,
    'part of the signed certificate for good; the contract says to name no person here',
  ]),
  ['tenants.create body.name', 'the name the operator gave the tenant'],
  ['tenants.update body.name', 'the name the operator gave the tenant'],
  ['keys.create body.name', 'the name the administrator gave the key'],
])

/** The words of a policy are the tenant's rules: sealed, and kept while there is the policy. */
const isPolicyWord = (place: string): boolean =>
  /^governance\.(create|update)_policy body\./.test(place)

/** Whose memories a key is limited to: sealed, and kept while there is the key. */
const isKeyWord = (place: string): boolean => place === 'keys.create body.namespace'

/** Where deliveries go and what for: sealed, and kept while there is the webhook. */
const isWebhookWord = (place: string): boolean =>
  /^webhooks\.(create|update) body\.(url|description)$/.test(place)

/** Who a person is: sealed, and kept while there is the person. */
const isPersonWord = (place: string): boolean =>
  /^identity\.(invite|update_user) body\.(email|name)$/.test(place)
/** Whom a tenant signs in through: sealed, and kept while there is the connection. */
const isConnectionWord = (place: string): boolean =>
  /^identity\.(create_connection|configure|update_connection) body\.(?!client_secret)/.test(place)
/** Of an agent, and of who decided its actions: sealed, and kept while there is the agent. */
const AGENT_WORDS = 'create_agent|update_agent|approve_action|reject_action'
const isAgentWord = (place: string): boolean =>
  new RegExp(`^(orchestrator[.](${AGENT_WORDS})|workflows[.]create) body[.]`).test(place)

/** Which models and tools are asked, and where: sealed, and kept while they are there. */
const isProviderWord = (place: string): boolean =>
  /^llm\.create_provider body\.(model_id|base_url)$/.test(place) ||
  /^llm\.create_tool body\.(description|input_schema|url|headers\{\}|compensation\.map)/.test(place)

/** What was registered, issued, composed or invoked, who approved it, and whom agents are. */
const RECORD_WORDS = [
  /^(artifacts|landing|provenance|compositions|world_model|approvals)\.[a-z_]+ body\./,
  /^cgr\.[a-z_]+ body(\[\])?\./,
  /^reports\.generate body\.title$/,
]

/** Of those operations, but compared, counted or hashed only: no read has words for them. */
const UNREAD_WORDS = [
  /^artifacts\.register body\.(composition_id|members|status)\*$/,
  /^landing\.conformance body\./,
  /^landing\.issue body\.data_provenance\.merkle_root\*$/,
  /^approvals\.attest body\.signer_id$/,
  /^world_model\.validate_object body\.instance/,
  /^world_model\.validate_link body\.(from_id|to_id|existing)/,
  /^cgr\.verify_batch body\.(?!agent_handle$)/,
  /^cgr\.decide body\.(reason|invoice_id|context|model_id)/,
  /^cgr\.[a-z]+ body(\[\])?\.(invoice_ref|reviewer_handle|source)$/,
]

/**
 * Words of registries, approvers and reputation are no memory: what was signed or counted would no
 * longer be true without them. They are sealed, and stay readable for the tenant alone when
 * memories and decisions are erased.
 */
export const isRecordWord = (place: string): boolean =>
  RECORD_WORDS.some((kept) => kept.test(place)) && !UNREAD_WORDS.some((kept) => kept.test(place))

/** What erasing memories leaves to be read; in clear it is nowhere either. */
export const isKeptWord = (place: string): boolean =>
  isPolicyWord(place) ||
  isKeyWord(place) ||
  isWebhookWord(place) ||
  isPersonWord(place) ||
  isConnectionWord(place) ||
  isAgentWord(place) ||
  isProviderWord(place) ||
  isRecordWord(place)

/** A request id is the caller's own, made to be found again in the log. */
export const isKeptHeader = (place: string): boolean => place.endsWith(' headers.x-request-id')
