// Commands with verbs (`custos hold place …`). Each verb has its own options and arguments.

import { createInterface } from 'node:readline/promises'
import { setTimeout } from 'node:timers/promises'
import type { Custos } from '@custos/client'
import { CLIENT_OPTIONS, useClient } from './client-calls.ts'
import {
  CommandError,
  type Options,
  readArguments,
  requirePositionals,
  UsageError,
} from './command.ts'
import { startProgress } from './output.ts'

/**
 * A verb that calls a running service with the key of a tenant.
 *
 * @param names the names of its arguments, all of which are required
 */
export const defineVerb =
  <const O extends Options>(
    options: O,
    names: readonly string[],
    run: (
      custos: Custos,
      given: ReturnType<typeof readArguments<O & typeof CLIENT_OPTIONS>>,
    ) => Promise<void>,
  ) =>
  async (args: readonly string[]): Promise<void> => {
    const given = readArguments<O & typeof CLIENT_OPTIONS>(args, { ...CLIENT_OPTIONS, ...options })
    requirePositionals(given.positionals, ...names)
    await useClient({ url: urlOf(given.values) }, 'tenant', (custos) => run(custos, given))
  }

const urlOf = (values: object): string | undefined =>
  'url' in values && typeof values.url === 'string' ? values.url : undefined

/** Runs the verb that the first argument names. */
export async function runVerb(
  args: readonly string[],
  verbs: Readonly<Record<string, ReturnType<typeof defineVerb>>>,
): Promise<number> {
  const [name = '', ...rest] = args
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  if (!verb) throw new UsageError(`expected one of ${Object.keys(verbs).join(', ')}`)
  await verb(rest)
  return 0
}

export const CONFIRM_OPTIONS = { yes: { type: 'boolean' } } as const

/** Asks on a terminal to confirm an irreversible action; `yes` confirms without asking. */
export async function confirm(
  question: string,
  yes: boolean | undefined,
  input: NodeJS.ReadableStream & { readonly isTTY?: boolean } = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<void> {
  if (yes) return
  if (!input.isTTY)
    throw new UsageError('nothing was changed: confirm it on a terminal, or with --yes')
  const lines = createInterface({ input, output })
  const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), closed])
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('nothing was changed')
  } finally {
    lines.close()
  }
}

const POLL_MS_MIN = 100
const POLL_MS_MAX = 1_000

/** Shows the progress of a job until it is done. Throws CommandError if it failed. */
export async function waitForJob(custos: Custos, title: string, job_id: string): Promise<void> {
  const progress = startProgress(title)
  try {
    for (let wait = POLL_MS_MIN; ; wait = Math.min(2 * wait, POLL_MS_MAX)) {
      const job = await custos.jobs.get(job_id)
      if (job.state === 'done') return
      if (job.state === 'failed' || job.state === 'cancelled')
        throw new CommandError(
          `the job ${job_id} is ${job.state}: ${job.error ?? 'no reason given'}`,
        )
      const failure = job.error === null ? '' : `, the last attempt failed: ${job.error}`
      progress.show(`${job.progress.done} of ${job.progress.total}${failure}`)
      await setTimeout(wait)
    }
  } finally {
    progress.end()
  }
}
