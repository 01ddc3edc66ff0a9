// Calls a running service with the client, whose errors become one-line CommandErrors.

import { ApiError, ConnectionError, Custos, CustosError } from '@custos/client'
import { CLIENT_SETTINGS, readClientEnvironment } from '@custos/server/client-settings'
import { settingsHelp } from '@custos/server/settings'
import { CommandError, UsageError } from './command.ts'

export const CLIENT_OPTIONS = { url: { type: 'string' } } as const

export const CLIENT_HELP = settingsHelp(CLIENT_SETTINGS)

const KEY_ADVICE = {
  operator: 'set CUSTOS_OPERATOR_KEY to the operator key that the service was started with',
  tenant: 'set CUSTOS_API_KEY to a key of a tenant of this service (custos tenant create)',
} as const

const KEY_SETTING = { operator: 'CUSTOS_OPERATOR_KEY', tenant: 'CUSTOS_API_KEY' } as const

/**
 * Runs `act` with a client of the service. Errors of the client are thrown as CommandError.
 *
 * @param role the owner of the key to use: the operator or a tenant
 */
export async function useClient<T>(
  options: { url?: string | undefined },
  role: keyof typeof KEY_ADVICE,
  act: (custos: Custos) => Promise<T>,
): Promise<T> {
  const { url, apiKey: tenantKey } = clientAddress(options)
  const apiKey = role === 'operator' ? readClientEnvironment().CUSTOS_OPERATOR_KEY : tenantKey
  if (role === 'operator' && apiKey === undefined)
    throw new UsageError('set CUSTOS_OPERATOR_KEY to the operator credential of the service')
  try {
    // No retries and no timeout: a person at a terminal sees failures and can interrupt a wait.
    const patience = { retries: 0, timeoutMs: Number.POSITIVE_INFINITY }
    return await act(new Custos({ url, apiKey, allowInsecure: true, ...patience }))
  } catch (error) {
    throw commandError(error, { url, role })
  }
}

/** The address of the service, and the API key of a tenant. */
export function clientAddress(options: { url?: string | undefined }) {
  const env = readClientEnvironment()
  const url = baseUrl(options.url ?? env.CUSTOS_URL ?? 'http://127.0.0.1:8420')
  return { url, apiKey: env.CUSTOS_API_KEY }
}

export function baseUrl(text: string): string {
  const parsed = URL.canParse(text) ? new URL(text) : null
  if (parsed && ['http:', 'https:'].includes(parsed.protocol)) return text.replace(/\/+$/, '')
  throw new UsageError('the address of the service must be an http or https URL')
}

/** Removes undefined members, so that options that were not given are not sent. */
export function setMembers<T extends object>(
  values: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // JSON omits exactly the members that are undefined.
  return JSON.parse(JSON.stringify(values))
}

/** Passes texts of the command line where an operation expects an enum. The service checks them. */
export const unchecked = <T extends object>(
  values: Readonly<Partial<Record<keyof NoInfer<T>, unknown>>>,
): T => values as T

/** Converts an error of the client to a CommandError. */
export function commandError(
  error: unknown,
  { url, role }: { url: string; role: keyof typeof KEY_ADVICE },
): unknown {
  if (error instanceof ApiError) {
    const { status, code, detail, title } = error
    const line = `${status} ${detail || title}`
    if (code === 'store_not_found') return new CommandError(`${line}: name one that is there`)
    return new CommandError(status === 401 ? `${line}: ${KEY_ADVICE[role]}` : line)
  }
  if (error instanceof ConnectionError && error.cause !== undefined)
    return new CommandError(
      `no answer from ${new URL(url).origin}: ${reasonOf(error.cause)}: check that the service ` +
        'runs there, or give its address with --url',
    )
  if (!(error instanceof CustosError)) return error
  // In the command, this setting has the role of the client's option `apiKey`.
  return new CommandError(error.message.replace(/^apiKey\b/, KEY_SETTING[role]))
}

// The message of a fetch error is "fetch failed"; the reason is in its cause.
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason'
  const { cause } = error
  if (cause instanceof Error) return cause.message || ('code' in cause ? String(cause.code) : '')
  return error.message
}
