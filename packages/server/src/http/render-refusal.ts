// Renders the error that ended a request: problem+json (RFC 9457) or the validation list.

import { refusals } from '@custos/contract'
import { KeyringError } from '../platform/keys/keyring-error.ts'
import { SealError } from '../platform/keys/seal.ts'
import { Refusal } from '../platform/refusal.ts'
import { refusalOfStorage, storageFault } from '../platform/storage-fault.ts'
import { describeError, type Logger } from '../platform/telemetry/logger.ts'
import { answerHeaders, type Headers, JSON_TYPE, PROBLEM_TYPE } from './answer.ts'
import { errorPath } from './assets.ts'

interface RefusalReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const DAMAGED =
  'stored data or a stored key is damaged and does not open: run custos fsck, which names it'

/** Whether stored bits (a sealed row, its secret or a wrapped key) have changed. */
const isDamage = (error: unknown): boolean =>
  error instanceof SealError || (error instanceof KeyringError && error.code === 'keyring_damaged')

/** Converts an error to a refusal. Unexpected errors are logged and reveal nothing. */
export function asRefusal(error: unknown, logger: Logger, request_id: string): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof KeyringError && error.code === 'no_signing_key')
    return new Refusal('no_signing_key', undefined, { retry_after_s: 60 })
  if (error instanceof KeyringError && error.code === 'tenant_destroyed')
    return new Refusal('tenant_destroyed')
  if (error instanceof KeyringError && error.code === 'keyring_unavailable') {
    logger.warn('keyring.unavailable', { request_id, reason: error.message })
    return new Refusal('unavailable', undefined, { retry_after_s: 5 })
  }
  // Other processes were restarted with a new master key, and this one was not.
  if (error instanceof KeyringError && error.code === 'wrong_master_key') {
    logger.error('keyring.wrong_master_key', { request_id })
    return new Refusal('unavailable', undefined, { retry_after_s: 5 })
  }
  // The key was rotated during the request; a retry is signed with the new key.
  if (error instanceof KeyringError && error.code === 'signing_key_retired')
    return new Refusal('unavailable', undefined, { retry_after_s: 1 })
  if (isDamage(error)) {
    const reason = error instanceof Error ? error.message : undefined
    logger.error('storage.damaged', { request_id, reason, ...describeError(error) })
    return new Refusal('unavailable', DAMAGED)
  }
  const fault = storageFault(error)
  if (fault !== null) {
    logger.error('storage.fault', { request_id, fault, ...describeError(error) })
    return refusalOfStorage(fault)
  }
  logger.error('request.failed', { request_id, ...describeError(error) })
  return new Refusal('internal', 'The request failed; the log has the reason under this id')
}

export function renderRefusal(refusal: Refusal, request_id: string): RefusalReply {
  const { code, extras, status } = refusal
  const list = isValidation(refusal)
  const headers = answerHeaders(request_id, list ? JSON_TYPE : PROBLEM_TYPE)
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="custos"'
  if (extras.retry_after_s !== undefined)
    headers['retry-after'] = Math.max(1, Math.ceil(extras.retry_after_s))
  Object.assign(headers, extras.headers)
  const body = list
    ? { detail: detailList(refusal), error: code, request_id }
    : {
        ...extras.members,
        type: errorPath(code),
        title: refusals[code].title,
        status,
        detail: extras.detail ?? refusal.message,
        error: code,
        request_id,
      }
  return { status, headers, text: JSON.stringify(body) }
}

/**
 * The error page for a browser that was redirected here. It is the same for every reason, so that
 * it does not reveal whom the tenant knows.
 */
export function renderPage({ headers }: RefusalReply, request_id: string): RefusalReply['text'] {
  Object.assign(headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  })
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width"><title>Not signed in</title>',
    '<main><h1>You are not signed in</h1>',
    '<p>The sign-in was not completed. Begin again, or ask an administrator of your tenant, who ',
    'finds the reason on the audit log.</p>',
    '<p><a href="/console">Sign in</a></p>',
    `<p>Request <code>${request_id}</code></p></main></html>`,
  ].join('')
}

const isValidation = ({ code }: Refusal): boolean =>
  code === 'validation' || code === 'malformed_json'

function detailList({ extras, message }: Refusal): unknown {
  if (Array.isArray(extras.detail)) return extras.detail
  return [{ loc: ['body'], msg: message, type: 'value_error' }]
}
