// What each refusal means to the caller, and what the caller can do about it.

import { limits } from './limits.ts'
import type { RefusalCode } from './refusals.ts'

export interface Remedy {
  /** The situation in which the code is returned. */
  readonly when: string
  /** What the caller can do. */
  readonly advice: string
}

/** Texts for people, with code in backticks. They may change; the codes do not. */
export const remedies: Readonly<Record<RefusalCode, Remedy>> = {
  validation: {
    when:
      'A parameter or a field of the body is missing, has the wrong type, is out of range, or ' +
      'has a value that cannot be stored unchanged (U+0000, a lone surrogate, an integer beyond ' +
      '2^53 - 1); the operation has no field or query parameter of that name ' +
      '(`extra_forbidden`); or a key of the body occurs twice (`duplicate_key`).',
    advice:
      '`detail` lists up to 20 problems: `loc` is the place, `msg` the problem, with the name ' +
      'that was probably meant where one is near, `type` its kind. ' +
      'The input itself is never repeated. Correct the request; repeating it changes nothing.',
  },
  malformed_json: {
    when: 'The body is not JSON, or not UTF-8.',
    advice: '`detail[0].loc` ends with the position of the first unreadable character.',
  },
  rejected: {
    when: 'The request is well formed, but it asks for something that is not possible.',
    advice: '`detail` says why. Correct the value it names.',
  },
  order_inverted: {
    when: 'A new version would begin at or before the beginning of the version it replaces.',
    advice: 'Send a later `valid_from`, or none: then the new version begins now.',
  },
  lengths_differ: {
    when: '`retrieved_contents` or `retrieved_scores` has a different length than the refs.',
    advice: 'Send one item for each ref, or leave the array out.',
  },
  capability_not_supported: {
    when:
      'The store was created without the capability this request needs. The reply names it in ' +
      '`capability`, and the operation in `operation`.',
    advice: 'Use a store that declares it; the capabilities of a store never change.',
  },
  signing_key_refused: {
    when: 'The body has a field `signing_key`.',
    advice:
      'Remove it, and replace that key, because it was sent over the network. The service signs ' +
      'with its own keys.',
  },
  url_refused: {
    when:
      'The URL is not https, names a user, a fragment or a port below 1024 other than 443, or ' +
      'leads to a private, local or reserved address. What it resolves to is not told.',
    advice:
      'Use a public https URL. An operator allows private networks with `CUSTOS_EGRESS_ALLOW`. ' +
      'In local mode `http:` is accepted for loopback addresses.',
  },
  import_refused: {
    when:
      'A line of the import cannot be accepted: `line` is its number, `detail` the reason. Or an ' +
      'import with the same `Idempotency-Key` broke off after its first memories.',
    advice:
      'Correct the line. Up to 8 MiB nothing has been written; of a larger import `imported` ' +
      'says how many memories were kept: remove them, or import the rest, with a new key.',
  },
  body_too_large: {
    when: 'The body has more bytes than this operation accepts.',
    advice: 'Split the request: use `write_batch` for many memories, `import` for very many.',
  },
  unsupported_media_type: {
    when: 'The content type is not the one of this operation, or the body is compressed.',
    advice: 'Send `application/json`, or `application/x-ndjson` for an import, uncompressed.',
  },
  bad_request: {
    when:
      'The request could not be read as HTTP, it names no host or several, its body ended before ' +
      'it was complete, or it did not arrive within a minute (408; an import has an hour).',
    advice: 'Check the percent-encoding of the path, the headers and the length of the body.',
  },
  unauthenticated: {
    when: 'No credential was sent, or one that is unknown, revoked or expired.',
    advice: 'Send a valid key as `Authorization: Bearer <key>` or `X-API-Key: <key>`.',
  },
  credentials_differ: {
    when:
      '`Authorization` and `X-API-Key` contain two different keys, or a key was sent together ' +
      'with the cookie of a session.',
    advice: 'Send only one of them.',
  },
  scope_missing: {
    when: 'The key is valid, but does not have the scope that the operation requires.',
    advice:
      'Use a key with the scope that `detail` names. A key can grant only scopes it has itself.',
  },
  operator_required: {
    when: 'The operation is for operators of the platform; the credential belongs to a tenant.',
    advice: 'Use an operator credential. The scope `*` of a tenant key does not include it.',
  },
  tenant_required: {
    when: "The operation works on a tenant's own data, which an operator does not have.",
    advice: 'Use a key of the tenant.',
  },
  origin_refused: {
    when:
      'In local mode, without credentials, the Host header is not a loopback name, or the ' +
      'request comes from a web page of another origin. With the cookie of a session: a request ' +
      'that is not a GET comes from a page of another origin, or its `x-custos-csrf` is not that ' +
      'of the session.',
    advice:
      'Call the service as `localhost`, list the host in `CUSTOS_ALLOWED_HOSTS`, or use keys. ' +
      'In a session, send the `csrf_token` of `GET /v1/portal/me`; list the origin of the page ' +
      'in `CUSTOS_CONSOLE_ORIGINS` where it is another than that of the service.',
  },
  policy_denied: {
    when:
      'A policy of the tenant denies the operation. The reply has its `policy_id`, `name` and ' +
      '`reason`, also in `detail`.',
    advice:
      'Change the request, or the policy: `GET /v1/governance/policies/{policy_id}`. To find out ' +
      'beforehand what the policies say, use `POST /v1/governance/evaluate` with `dry_run`.',
  },
  user_not_found: {
    when: 'The tenant has no such person, or the person was removed.',
    advice: 'List them: `GET /v1/portal/users`.',
  },
  connection_not_found: {
    when: 'The tenant has no such connection.',
    advice: 'List them: `GET /v1/portal/sso/connections`.',
  },
  domain_not_found: {
    when: 'The domain is not one of the connection.',
    advice: 'Read its `domains`: `GET /v1/portal/sso/connections/{connection_id}`.',
  },
  sso_not_configured: {
    when: 'The connection or domain is unknown, or the connection is switched off.',
    advice:
      'Ask an administrator of your tenant for the address of the sign-in page; list what there ' +
      'is with `GET /v1/portal/sso/providers?tenant=…`.',
  },
  login_refused: {
    when:
      'The provider refused, its answer or its token was not valid, or the person could not be ' +
      'told from another. The reason is on the audit log of the tenant, not in the answer.',
    advice:
      'Begin the sign-in again. Administrators find the reason as `user.sign_in_refused` on the ' +
      'audit log; docs/sso.md has what to do about each.',
  },
  not_invited: {
    when: 'The connection does not let people in who were not invited, and nobody invited them.',
    advice: 'Ask an administrator of your tenant for an invitation.',
  },
  role_unmapped: {
    when: 'None of the values that the provider states is mapped to a role, and none is default.',
    advice: 'Ask an administrator of your tenant to map a value, or to set `default_role`.',
  },
  sso_enforced: {
    when:
      'A connection of the tenant has `enforced`: people sign in through it, neither with an ' +
      'invitation nor with a key of their own.',
    advice: 'Use the provider. An operator who invites an owner keeps a way in.',
  },
  idp_unavailable: {
    when: 'The provider cannot be reached or answers with an error.',
    advice:
      'Try again later. Sessions that have begun go on, and so do API keys. ' +
      '`POST /v1/portal/sso/connections/{connection_id}/test` says what is wrong.',
  },
  login_expired: {
    when:
      'The invitation is unknown, was taken, or is older than 7 days; or a sign-in through a ' +
      'provider is unknown, was begun in another browser, was completed, or took too long.',
    advice: 'Ask for a new invitation; begin the sign-in again.',
  },
  last_owner: {
    when: 'The person is the only owner of the tenant who has taken the invitation.',
    advice: 'Make somebody else an owner first.',
  },
  name_taken: {
    when:
      'A person with this e-mail address is invited or active in the tenant, or another agent ' +
      'of the tenant has the name.',
    advice: 'Change or remove that person first; choose another name for the agent.',
  },
  session_not_found: {
    when: 'The tenant has no such session, or it has ended.',
    advice: 'List them: `GET /v1/portal/sessions`.',
  },
  webhook_not_found: {
    when: 'The tenant has no such webhook.',
    advice: 'List them: `GET /v1/webhooks`.',
  },
  delivery_not_found: {
    when: 'The webhook has no such delivery; those that ended 30 days ago are deleted.',
    advice: 'List them, or send a part of the log again: `POST /v1/webhooks/{webhook_id}/replay`.',
  },
  agent_not_found: {
    when: 'The tenant has no such agent.',
    advice: 'List them: `GET /v1/orchestrator/agents`.',
  },
  tool_not_found: {
    when: 'The tenant has no such tool.',
    advice: 'List them: `GET /v1/llm/tools`.',
  },
  call_not_found: {
    when: 'The run has no such call.',
    advice: 'Read the run with its steps: `GET /v1/orchestrator/runs/{run_id}`.',
  },
  provider_not_found: {
    when: 'No enabled provider is configured for the model, which Custos would have to ask.',
    advice: 'Configure one: `POST /v1/llm/providers`; or execute the steps yourself: `client`.',
  },
  workflow_not_found: {
    when: 'The tenant has no such workflow.',
    advice: 'List them: `GET /v1/orchestrator/workflows`.',
  },
  model_unavailable: {
    when: 'The provider of the model cannot be reached, or answers with an error.',
    advice:
      'Nothing was written. Try again with the same `Idempotency-Key`; the model may be asked, ' +
      'and paid, again.',
  },
  model_answer_invalid: {
    when:
      'The model answered something else than the JSON that it was asked for, or more than is ' +
      'accepted.',
    advice: 'Nothing was written. Try again, ask another model, or use the mode `verbatim`.',
  },
  step_not_found: {
    when: 'The run has no such step.',
    advice: 'Read the run with its steps: `GET /v1/orchestrator/runs/{run_id}`.',
  },
  tool_refused: {
    when: 'The agent has a list of tools, and this one is not in it; or no such tool is enabled.',
    advice: 'Tell the model which tools it has, or create an agent with this tool.',
  },
  too_many_sources: {
    when: 'The step would be made from more than 1,000 memories, those of its input included.',
    advice: 'Retrieve with a smaller `budget_tokens`, or name one step as the input: `input_from`.',
  },
  permit_expired: {
    when:
      'The permit of the step ended before anybody reported an answer. What it had reserved ' +
      'counts as spent.',
    advice: 'Begin another step. Ask for more time with `permit_s`.',
  },
  budget_exhausted: {
    when: 'The steps of the run have used or reserved its whole budget.',
    advice: 'Complete the steps under way, or start another run with a larger budget.',
  },
  too_many: {
    when:
      'The tenant has as many webhooks or runs at once as its plan allows ' +
      `(${limits.webhooks_per_tenant} webhooks where no plan has limits), ` +
      `${limits.users_per_tenant} people, or as many agents, tools, providers, workflows, ` +
      'connections or domains as a tenant may have; or a run has its `max_steps`, a step its ' +
      'calls.',
    advice: 'Delete one that is not needed, or wait until a run has ended.',
  },
  rate_limited: {
    when:
      'A rate limit of the tenant allows no further request at the moment: a policy of type ' +
      '`rate_limit`. `quota` is the id of the policy, `limit` the requests that it allows in ' +
      '`window_s` seconds. For event streams: as many are open as a key, a tenant or a process ' +
      'may have.',
    advice:
      'Wait for the seconds in `Retry-After` and send the same request again. The headers ' +
      '`RateLimit-Policy` and `RateLimit` say the same in the form of ' +
      'draft-ietf-httpapi-ratelimit-headers.',
  },
  approval_required: {
    when:
      'A policy of the tenant requires an approval, and requests to this operation cannot wait ' +
      'for one.',
    advice: 'Let a person do it with their own credential, or change the policy.',
  },
  score_not_found: {
    when: 'The agent has no decision in this dimension, or has another `subject_key`.',
    advice: 'List the agents: `GET /v1/cgr/scores`.',
  },
  attestation_not_found: {
    when: 'The agent has a score, but no attestation of it has been issued.',
    advice: 'Issue one: `POST /v1/cgr/attestations`.',
  },
  report_not_found: {
    when: 'The tenant has no such report, or it was deleted.',
    advice: 'List the reports: `GET /v1/reports`; add `include_deleted=true` for deleted ones.',
  },
  schedule_not_found: {
    when: 'The tenant has no such schedule, or it was deleted.',
    advice: 'List the schedules: `GET /v1/assurance/schedules`.',
  },
  run_not_found: {
    when: 'The tenant has no such run, or it was removed because there are enough newer ones.',
    advice: 'List the runs: `GET /v1/assurance/runs`.',
  },
  baseline_not_found: {
    when: 'No baseline of the tenant has been captured.',
    advice: 'Capture one: `POST /v1/assurance/baseline`.',
  },
  run_in_progress: {
    when: 'A run of checks is in progress; a tenant has one at a time.',
    advice: 'Wait until `GET /v1/assurance/runs` shows that it has ended.',
  },
  possession_unproven: {
    when:
      'The signature in the request was not made over this request with the key beside it, or ' +
      'was sent without a key.',
    advice: 'Sign the documented bytes with the key you send, or send neither.',
  },
  self_report: {
    when:
      '`reporter_key` is a key of an agent that decided on the referent; or the tenant compares ' +
      'credentials and the credential recorded the decision.',
    advice: 'Let somebody else report the outcome.',
  },
  self_review: {
    when:
      'The reviewer has a handle or a key of an agent whose decision is reviewed; or the tenant ' +
      'compares credentials and the credential recorded the decision.',
    advice: "Let somebody else review it, or name another agent's decision with `decision_id`.",
  },
  outcome_known: {
    when:
      'The tenant has set `judgments_final`, the agent judged the referent differently before, ' +
      'and the outcome is known.',
    advice: 'Nothing can be done: the judgment from before the outcome counts.',
  },
  older_statement: {
    when:
      'The statement on record for the referent was signed with the same key at the same time or ' +
      'later.',
    advice: 'Sign a current statement, with the time of signing.',
  },
  rotation_refused: {
    when:
      'The rotation does not continue its chain: the number is not the next one, `prev_key` is ' +
      'not the current key, `new_key` has a record already, or `not_before` is earlier than that ' +
      'of the last rotation. For a decision: its key was replaced, or is not valid yet.',
    advice: '`GET /v1/cgr/rotations` shows the chain. Decide with its current key.',
  },
  route_not_found: {
    when: 'No operation has this path.',
    advice: 'Compare the path with `/openapi.json` or `/docs`.',
  },
  method_not_allowed: {
    when: 'The path exists, but not with this method.',
    advice: 'Use one of the methods in the `Allow` header.',
  },
  tenant_not_found: {
    when: 'There is no such tenant, or the caller belongs to another one.',
    advice: 'Check the id. The two cases look the same on purpose.',
  },
  key_not_found: {
    when: 'The tenant has no key with this id.',
    advice: 'List the keys: `GET /v1/keys`.',
  },
  store_not_found: {
    when:
      'The store does not exist, is being deleted, belongs to another tenant, or the key may not ' +
      'use it.',
    advice: 'List the stores: `GET /v1/stores`.',
  },
  memory_not_found: {
    when: 'The store has no such memory: it never existed, or it was erased.',
    advice: 'If it was erased, `GET /v1/erasure/fact/{ref}` returns the certificate.',
  },
  decision_not_found: {
    when: 'The tenant has no such decision, or the key may not use its store.',
    advice: 'List the decisions: `GET /v1/decisions`.',
  },
  certificate_not_found: {
    when: 'The tenant has no such certificate, or the key may not use its store.',
    advice: 'List the certificates: `GET /v1/erasure`.',
  },
  epoch_not_found: {
    when: 'The audit log of the tenant has no checkpoint with this number, or none at all.',
    advice: 'List the checkpoints: `GET /v1/gcrumbs/epochs`.',
  },
  tile_not_found: {
    when: 'The last checkpoint of the audit log has no such tile, or the path names none.',
    advice: 'Read `GET /v1/log/checkpoint`: its tree size says which tiles there are.',
  },
  job_not_found: {
    when: 'The tenant has no such job.',
    advice: 'Use the `job_id` of the reply that started the job.',
  },
  job_ended: {
    when: 'The job is done, has failed or was cancelled.',
    advice: 'Read the job: `GET /v1/jobs/{job_id}` says how it ended.',
  },
  job_not_cancellable: {
    when:
      'The work must not stop half-way: deletions of stores and other erasures that have begun ' +
      'are finished, and memories get their vectors.',
    advice: 'Wait for the end of the job. `cancellable` says whether a job can be cancelled.',
  },
  policy_not_found: {
    when: 'The tenant has no such policy, or it was deleted.',
    advice: 'List the policies: `GET /v1/governance/policies`.',
  },
  landing_not_found: {
    when: 'The tenant has no such landing certificate.',
    advice: 'List the certificates: `GET /v1/landing`.',
  },
  artifact_not_found: {
    when: 'The tenant has no such artifact.',
    advice: 'List the artifacts: `GET /v1/artifacts`.',
  },
  type_not_found: {
    when: 'The world model of the tenant has no such type.',
    advice: 'List the types: `GET /v1/world-model/types`.',
  },
  action_not_found: {
    when: 'The tenant has no such action.',
    advice: 'List the actions: `GET /v1/world-model/actions`.',
  },
  template_not_found: {
    when: 'There is no template with this id.',
    advice: 'List the templates: `GET /v1/templates`.',
  },
  corpus_not_found: {
    when: 'The tenant has no such corpus.',
    advice: 'List the corpora: `GET /v1/provenance/corpora`.',
  },
  composition_not_found: {
    when: 'The tenant has no such composition.',
    advice: 'List the compositions: `GET /v1/compositions`.',
  },
  request_not_found: {
    when: 'The tenant has no such approval request.',
    advice: 'List the approval requests: `GET /v1/hitl/requests?status=all`.',
  },
  approver_not_found: {
    when: 'The tenant has no such approver, or the approver was revoked.',
    advice: 'List the approvers: `GET /v1/hitl/approvers`.',
  },
  self_approval: {
    when:
      'The approver is the principal of the request or the key that made it; or the tenant ' +
      'requires different credentials and the deciding key is the one that asked.',
    advice: 'Let somebody else decide, with their own key.',
  },
  attestation_required: {
    when: 'The tenant allows only enrolled approvers to decide, with a signature.',
    advice: 'Use `POST /v1/hitl/requests/{request_id}/attest`.',
  },
  attestation_invalid: {
    when: 'The signature is not that of the named approver over this request and decision.',
    advice: 'Sign the bytes in `signing_input` of `GET /v1/hitl/requests/{request_id}`.',
  },
  not_waiting: {
    when: 'The record has been decided on, or never had to wait.',
    advice: 'Read the record: `status` is the result.',
  },
  approval_expired: {
    when: 'Nobody decided in time, so the record cannot be approved any more.',
    advice: 'Send the original request again: it is evaluated again.',
  },
  wrong_state: {
    when: 'The operation is not possible in the current `status`.',
    advice: 'Read the record and its `status`.',
  },
  payment_signature_invalid: {
    when:
      'The body of a payment event was not signed with a secret of the service, or more than ' +
      'five minutes ago, or two signatures were sent that differ.',
    advice:
      'Configure the signing secret of the provider as `CUSTOS_BILLING_WEBHOOK_SECRET`. Nothing ' +
      'was changed; the provider sends the event again.',
  },
  subscription_not_found: {
    when: 'The tenant has never begun a paid plan, or its subscription has ended.',
    advice: 'Begin one with `POST /v1/cloud/billing/checkout`.',
  },
  billing_not_configured: {
    when: '`CUSTOS_BILLING` is not set, or the secret this needs is missing.',
    advice: 'An operator configures a payment provider; see docs/operating/billing.md.',
  },
  payment_unavailable: {
    when: 'The payment provider did not answer, or answered with a fault of its own.',
    advice: 'Repeat the request after `Retry-After`. Plan and subscription are as they were.',
  },
  quota_exceeded: {
    when:
      'The plan allows no more memories or stores: `quota` names which, `limit` how many, `used` ' +
      'how many there are. A batch is refused whole; an import stops at the line that is too many.',
    advice:
      'Erase what is not needed any longer, or have the plan changed. What is stored stays and ' +
      'can be read, exported and erased.',
  },
  free_ceiling_reached: {
    when:
      'The tenant has logged as many decisions as its plan allows in a month: `ceiling` says how ' +
      'many, `period_end` when the next month begins.',
    advice: 'Have the plan changed, or log again in the next month. Everything else goes on.',
  },
  too_many_tokens: {
    when: `${limits.live_tokens_per_key} tokens of the calling key have not ended.`,
    advice:
      'Reuse a token until it ends, ask for a shorter `ttl_s`, or revoke tokens that are not ' +
      'needed: `DELETE /v1/keys/{key_id}`.',
  },
  store_exists: {
    when: 'A store of the tenant has this id, or had it before it was deleted.',
    advice: 'Choose another `store_id`, or leave it out: the service then chooses one.',
  },
  store_deleting: {
    when: 'The store is being deleted and accepts no more requests.',
    advice: 'Use another store. `GET /v1/stores/{store_id}` shows how many memories are left.',
  },
  superseded: {
    when: 'The memory to replace is not the current version; `head` names the current one.',
    advice: 'Read the current version, then supersede that one if it is still needed.',
  },
  item_changed: {
    when:
      'The item has another current version than `if_ref` names: `head` is its memory, null ' +
      'where there is no item of the name.',
    advice: 'Read the item, apply the change to that version and put it with the new `if_ref`.',
  },
  erasing: {
    when: 'The memory to replace is being erased.',
    advice: 'Write a new memory. The erasure cannot be undone.',
  },
  hold_not_found: {
    when: 'The store has no such legal hold.',
    advice: 'List the holds: `GET /v1/stores/{store_id}/holds`.',
  },
  tenant_destroyed: {
    when: 'The tenant was off-boarded: its keys are destroyed, so nothing of it can be read.',
    advice:
      '`GET /v1/admin/tenants/{tenant_id}/destruction` returns the certificate. Create another ' +
      'tenant.',
  },
  retention_not_set: {
    when: 'The store keeps its memories without a time limit, so there is nothing to run.',
    advice: 'Set a retention period: `PUT /v1/stores/{store_id}/retention`.',
  },
  legal_hold: {
    when:
      'A legal hold is in force on the store, or on a store of a memory that the decision used ' +
      'or contains. Nothing was erased.',
    advice:
      '`GET /v1/stores/{store_id}/holds` lists the holds. Try again once they are released or ' +
      'have ended.',
  },
  subject_changed: {
    when:
      '`expect_digest` names a search and the records that its preview found. This search finds ' +
      'others, because something was written, erased or changed since, or the preview was that ' +
      'of another search.',
    advice: 'Nothing was changed. Request a preview again, review it, and send its digest.',
  },
  subject_request_not_found: {
    when:
      'No request of a data subject has this id, or the key is limited to stores and did not ' +
      'make the request.',
    advice: 'Check the id: `GET /v1/erasure/subject` lists the requests the key can see.',
  },
  chain_empty: {
    when: 'The audit log has no entries that a checkpoint could sign.',
    advice: 'Try again after the first write.',
  },
  idempotency_key_reused: {
    when:
      'Within 48 hours the key was used with another body, parameters or operation, by this ' +
      'credential or one with the same class, stores, namespace and trust tier.',
    advice: 'Use a new key for each request, and the same key only for its retries.',
  },
  no_signing_key: {
    when: 'The signing key this operation needs was retired and not replaced.',
    advice: 'The operator creates a new one: `custos key rotate`. Nothing was written.',
  },
  index_building: {
    when: 'The search index of the store is being built, for example after a start.',
    advice:
      'Try again after the seconds in `Retry-After`. Writes and other stores are not affected.',
  },
  storage_full: {
    when:
      'The disk is full. Reads still work; nothing was written, and an erasure that had begun ' +
      'ends when there is space.',
    advice: 'The operator frees space; try again after the seconds in `Retry-After`.',
  },
  unavailable: {
    when:
      'A part that the operation needs is not working, or is busy with an erasure. Or stored ' +
      'data is damaged; `detail` then says so.',
    advice:
      'Try again after the seconds in `Retry-After`; `/readyz` names a failing part. Damage has ' +
      'no `Retry-After`, as trying again does not help: `custos fsck` names what is damaged.',
  },
  tenant_moving: {
    when:
      'The tenant is being moved to another cluster: what it stores cannot be changed for some ' +
      'seconds. Nothing was written.',
    advice: 'Try again after the seconds in `Retry-After`; reads still work.',
  },
  tenant_moved: {
    when: 'The tenant was moved to another cluster. `address` is where it is served now.',
    advice: 'Send this and every later request to `address`, with the same key.',
  },
  internal: {
    when: 'Something failed that should not.',
    advice:
      'The log of the service has the reason under the `request_id` of the reply. With an ' +
      'Idempotency-Key the request can be repeated safely.',
  },
}
