// What each refusal means for the caller, and what to do about it.

import type { RefusalCode } from './refusals.ts'

export interface Remedy {
  /** When it is answered. */
  readonly when: string
  /** What the caller can do. */
  readonly advice: string
}

/** Texts for people, with code in backticks; they may change, the codes do not. */
export const remedies: Readonly<Record<RefusalCode, Remedy>> = {
  validation: {
    when:
      'A parameter or a field of the body is missing, of a wrong type, out of its range, or ' +
      'holds what cannot be kept unchanged (U+0000, a lone surrogate, an integer beyond 2^53 - 1).',
    advice:
      '`detail` lists up to 20 problems: `loc` says where, `msg` what, `type` which kind. The ' +
      'input itself is never repeated. Correct the request; repeating it changes nothing.',
  },
  malformed_json: {
    when: 'The body is not JSON, or not UTF-8.',
    advice: '`detail[0].loc` ends with the position of the first unreadable character.',
  },
  rejected: {
    when: 'The request is well formed, but what it asks for cannot be: `detail` says why.',
    advice: 'Correct the value that `detail` names.',
  },
  order_inverted: {
    when: 'A version was to begin at or before the beginning of the version it replaces.',
    advice: 'Give a later `valid_from`, or none: then the successor begins now.',
  },
  lengths_differ: {
    when: '`retrieved_contents` or `retrieved_scores` has another number of items than the refs.',
    advice: 'Send one item for each ref, or leave the array out.',
  },
  capability_not_supported: {
    when:
      'The store was created without the capability this request needs. `capability` and ' +
      '`operation` stand at the top level of the answer.',
    advice: 'Use a store that declares it; the capabilities of a store never change.',
  },
  signing_key_refused: {
    when: 'The body carries a field `signing_key`.',
    advice:
      'Remove it, and replace that key: it has travelled. The service signs with its own keys.',
  },
  import_refused: {
    when:
      'A line of the import cannot be taken: `line` is its number, `detail` the reason. Or an ' +
      'import under the same `Idempotency-Key` broke off after its first memories.',
    advice:
      'Correct the line. Up to 8 MiB nothing has been written; of a larger import `imported` ' +
      'says how many memories were kept: remove them, or import the rest, under a new key.',
  },
  body_too_large: {
    when: 'The body has more bytes than this operation takes.',
    advice: 'Split the request: `write_batch` for many memories, `import` for very many.',
  },
  unsupported_media_type: {
    when: 'The content type is not the one of this operation, or the body is compressed.',
    advice: 'Send `application/json`, or `application/x-ndjson` for an import, uncompressed.',
  },
  bad_request: {
    when:
      'The request could not be read as HTTP, its body ended before it was complete, or it did ' +
      'not arrive within a minute (408; imports have an hour).',
    advice: 'Check the percent-encoding of the path, the headers and the length of the body.',
  },
  unauthenticated: {
    when: 'No credential was sent, or one that is unknown, revoked or expired.',
    advice: 'Send a valid key as `Authorization: Bearer <key>` or `X-API-Key: <key>`.',
  },
  credentials_differ: {
    when: '`Authorization` and `X-API-Key` carry two different keys.',
    advice: 'Send one of them.',
  },
  scope_missing: {
    when: 'The key is valid, but does not have the scope that the operation needs.',
    advice:
      'Use a key with the scope that `detail` names. A key can only grant what it has itself.',
  },
  operator_required: {
    when: 'The operation belongs to the platform; the credential is one of a tenant.',
    advice: 'Use an operator credential. The scope `*` of a tenant key never includes it.',
  },
  tenant_required: {
    when: "The operation works on a tenant's own data; an operator has none.",
    advice: 'Use a key of the tenant.',
  },
  origin_refused: {
    when:
      'In local mode, without credentials, the Host header is not a loopback name, or the ' +
      'request comes from a page of another origin.',
    advice: 'Call through `localhost`, list the host in `CUSTOS_ALLOWED_HOSTS`, or use keys.',
  },
  policy_denied: {
    when:
      'A policy of the tenant denies the operation. `policy_id`, `name` and `reason` stand at ' +
      'the top level of the answer and in `detail`.',
    advice:
      'Change the request, or the policy: `GET /v1/governance/policies/{policy_id}`. What a ' +
      'policy would say can be asked beforehand with `dry_run`.',
  },
  approval_required: {
    when:
      'A policy of the tenant wants a person to approve the operation, and the operation has no ' +
      'state to wait in.',
    advice: 'Let a person do it with a credential of their own, or change the policy.',
  },
  score_not_found: {
    when: 'The agent has not decided anything in this dimension, or has another `subject_key`.',
    advice: 'List the agents: `GET /v1/cgr/scores`.',
  },
  attestation_not_found: {
    when: 'The agent has a score, and no attestation of it was issued yet.',
    advice: 'Issue one: `POST /v1/cgr/attestations`.',
  },
  report_not_found: {
    when: 'The tenant has no such report, or it was deleted.',
    advice: 'List them: `GET /v1/reports`; with `include_deleted=true` also those deleted.',
  },
  schedule_not_found: {
    when: 'The tenant has no such schedule, or it was deleted.',
    advice: 'List them: `GET /v1/assurance/schedules`.',
  },
  run_not_found: {
    when: 'The tenant has no such run, or newer ones have taken its place.',
    advice: 'List them: `GET /v1/assurance/runs`.',
  },
  baseline_not_found: {
    when: 'No baseline of the tenant was captured yet.',
    advice: 'Capture one: `POST /v1/assurance/baseline`.',
  },
  run_in_progress: {
    when: 'A run of checks is under way: a tenant has one at a time.',
    advice: 'Wait for it: `GET /v1/assurance/runs` shows when it has ended.',
  },
  possession_unproven: {
    when:
      'A signature was sent that is not one of the key beside it over this request, or a ' +
      'signature without its key.',
    advice: 'Sign the bytes that the documentation names with the key you send, or send neither.',
  },
  self_report: {
    when:
      '`reporter_key` is the key of a decision on the referent, or of the same rotations; where ' +
      'the tenant compares credentials, the credential recorded the decision.',
    advice: 'Let somebody else report the outcome.',
  },
  self_review: {
    when:
      'The reviewer goes by a handle or a key of an agent whose decision is reviewed; where the ' +
      'tenant compares credentials, the credential recorded the decision.',
    advice: "Let somebody else review it, or name another agent's decision with `decision_id`.",
  },
  outcome_known: {
    when:
      'The tenant lets judgments stand (`judgments_final`), the agent judged the referent ' +
      'otherwise, and what became of it is known by now.',
    advice: 'Nothing: a judgment counts as it stood when the outcome came.',
  },
  older_statement: {
    when:
      'What is recorded of the referent was signed with the same key, at the same time or ' +
      'later.',
    advice: 'Sign what holds now, with the time it is signed.',
  },
  rotation_refused: {
    when:
      'The link does not continue its chain: another number is next, `prev_key` is not the key ' +
      'at its end, `new_key` has a record already, or `not_before` lies before that of the last ' +
      'link. For a decision: its key was rotated, or is not in force yet.',
    advice: '`GET /v1/cgr/rotations` shows the chain. Decide with the key at its end.',
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
    when: "There is no such tenant, or it is not the caller's own.",
    advice: 'Check the id. The two cases are not told apart on purpose.',
  },
  key_not_found: {
    when: 'The tenant has no key with this id.',
    advice: 'List the keys: `GET /v1/keys`.',
  },
  store_not_found: {
    when:
      'There is no such store for this credential: it does not exist, is being deleted, belongs ' +
      'to another tenant, or the key may not use it.',
    advice: 'List the stores: `GET /v1/stores`.',
  },
  memory_not_found: {
    when: 'The store holds no such memory: it never did, or it has been erased.',
    advice: '`GET /v1/erasure/fact/{ref}` answers the certificate where it was erased.',
  },
  decision_not_found: {
    when: 'The tenant has no such decision, or the key may not see its store.',
    advice: 'List the decisions: `GET /v1/decisions`.',
  },
  certificate_not_found: {
    when: 'The tenant has no such certificate, or the key may not see its store.',
    advice: 'List the certificates: `GET /v1/erasure`.',
  },
  epoch_not_found: {
    when: 'The log of the tenant has no epoch with this number.',
    advice: 'List the epochs: `GET /v1/gcrumbs/epochs`.',
  },
  job_not_found: {
    when: 'The tenant has no such job.',
    advice: 'Use the `job_id` of the answer that started it.',
  },
  job_ended: {
    when: 'The job is done, has failed or was cancelled already.',
    advice: 'Read it: `GET /v1/jobs/{job_id}` says how it ended.',
  },
  job_not_cancellable: {
    when:
      'The work must not stop half way: a deletion of a store or another erasure that has begun ' +
      'is finished, and memories are given their vectors.',
    advice: 'Wait for its end. Its `cancellable` says beforehand whether a job can be cancelled.',
  },
  policy_not_found: {
    when: 'The tenant has no such policy, or it was deleted.',
    advice: 'List the policies: `GET /v1/governance/policies`.',
  },
  landing_not_found: {
    when: 'The tenant has no such landing certificate.',
    advice: 'List them: `GET /v1/landing`.',
  },
  artifact_not_found: {
    when: 'The tenant has no such artifact.',
    advice: 'List them: `GET /v1/artifacts`.',
  },
  type_not_found: {
    when: 'The world model of the tenant has no such type.',
    advice: 'List the types: `GET /v1/world-model/types`.',
  },
  action_not_found: {
    when: 'The tenant has no such action.',
    advice: 'List them: `GET /v1/world-model/actions`.',
  },
  template_not_found: {
    when: 'There is no template with this id.',
    advice: 'List them: `GET /v1/templates`.',
  },
  corpus_not_found: {
    when: 'The tenant has no such corpus.',
    advice: 'List them: `GET /v1/provenance/corpora`.',
  },
  composition_not_found: {
    when: 'The tenant has no such composition.',
    advice: 'List them: `GET /v1/compositions`.',
  },
  request_not_found: {
    when: 'The tenant has no such request for an approval.',
    advice: 'List them: `GET /v1/hitl/requests?status=all`.',
  },
  approver_not_found: {
    when: 'The tenant has no such approver, or it was revoked.',
    advice: 'List them: `GET /v1/hitl/approvers`.',
  },
  self_approval: {
    when:
      'The approver is the principal of the request, or the key that made it; where the tenant ' +
      'demands different credentials, the key that decides is the one that asked.',
    advice: 'Let somebody else decide, with a key of their own.',
  },
  attestation_required: {
    when: 'The tenant lets enrolled approvers decide only, who sign what they decide.',
    advice: 'Use `POST /v1/hitl/requests/{request_id}/attest`.',
  },
  attestation_invalid: {
    when: 'The signature is not that of the named approver over this request and this decision.',
    advice: 'Sign the bytes that `signing_input` of `GET /v1/hitl/requests/{request_id}` gives.',
  },
  not_waiting: {
    when: 'It has been decided already, or never had to wait.',
    advice: 'Read it: its `status` says what became of it.',
  },
  approval_expired: {
    when: 'Nobody decided in time. It is not issued any more.',
    advice: 'Ask again: the request is evaluated anew.',
  },
  wrong_state: {
    when: 'What is asked for does not follow from its `status`.',
    advice: 'Read it: its `status` says what became of it.',
  },
  store_deleting: {
    when: 'The store is being deleted and takes nothing any more.',
    advice: 'Use another store. `GET /v1/stores/{store_id}` says how many memories are left.',
  },
  superseded: {
    when: 'The memory to be replaced is not the current version any more; `head` names that.',
    advice: 'Read the head and decide again, or supersede it instead.',
  },
  erasing: {
    when: 'The memory to be replaced is being erased.',
    advice: 'Write a new memory. The erasure will not be undone.',
  },
  hold_not_found: {
    when: 'The store has no such legal hold.',
    advice: 'List them: `GET /v1/stores/{store_id}/holds`.',
  },
  tenant_destroyed: {
    when: 'The tenant was off-boarded: its keys are destroyed, and nothing of it can be read.',
    advice:
      '`GET /v1/admin/tenants/{tenant_id}/destruction` answers the certificate. Make another ' +
      'tenant.',
  },
  retention_not_set: {
    when: 'The store keeps its memories for good: there is nothing to run.',
    advice: 'Set how long it keeps them: `PUT /v1/stores/{store_id}/retention`.',
  },
  legal_hold: {
    when:
      'A legal hold stands on the store, or on a store whose memory the decision used or is of. ' +
      'Nothing was erased.',
    advice:
      '`GET /v1/stores/{store_id}/holds` lists the holds. Once they are released, or their time ' +
      'is over, ask again.',
  },
  subject_changed: {
    when:
      '`expect_digest` names the records that a preview found, and now others are found: ' +
      'something was written, erased or changed since.',
    advice: 'Nothing was changed. Ask for a preview again, look at it, and send its digest.',
  },
  subject_request_not_found: {
    when:
      'No request of a data subject has this id, or the key is limited to stores and has not ' +
      'made it.',
    advice: 'Check the id: `GET /v1/erasure/subject` lists the requests the key can see.',
  },
  chain_empty: {
    when: 'There is nothing on the log yet that a checkpoint could sign.',
    advice: 'Try again after the first write.',
  },
  idempotency_key_reused: {
    when: 'Within 48 hours the key came with another body, other parameters or another operation.',
    advice: 'Use a new key for each request, and the same key for its retries only.',
  },
  no_signing_key: {
    when: 'The signing key this operation needs was retired and has no successor.',
    advice: 'The operator makes a new one: `custos key rotate`. Nothing was written.',
  },
  index_building: {
    when: 'The search index of the store is still being built, after a start for example.',
    advice:
      'Try again after the seconds in `Retry-After`. Writes and other stores are not affected.',
  },
  storage_full: {
    when: 'The disk is full. Reads go on; nothing was written.',
    advice: 'The operator frees space; try again after the seconds in `Retry-After`.',
  },
  unavailable: {
    when: 'A part that the answer needs does not work now, or is busy with an erasure.',
    advice: 'Try again after the seconds in `Retry-After`. `/readyz` names a failing part.',
  },
  internal: {
    when: 'Something failed that should not.',
    advice:
      'The log of the service has the reason under the `request_id` of the answer. With an ' +
      'Idempotency-Key the request can be repeated safely.',
  },
}
