// Stopping with a database that may have gone: what waits for its answers would wait in vain.

import type { PostgresConfig } from '../config/config.ts'
import { OperatorError } from '../platform/operator-error.ts'

/** Stopping was given up; of what was acknowledged nothing is lost. */
export class DatabaseGone extends OperatorError {}

const LOOK_MS = 250
const ANSWER_MS = 1_000
/** Without an answer for so long, it is not coming back in time. */
const SILENCE_MS = 3_500

/** Waits for `work`, but throws DatabaseGone once a server it needs has been silent for long. */
export async function whileAnswered(
  { database_url, keyring_url }: PostgresConfig,
  work: Promise<void>,
): Promise<void> {
  // What comes of it later is of interest to nobody.
  work.catch(() => {})
  const over = { yet: false }
  const urls = new Set([database_url, keyring_url ?? database_url])
  const watches = [...urls].map((url) => untilSilent(url, over))
  try {
    await Promise.race([work, ...watches])
  } finally {
    over.yet = true
  }
}

/** Resolves only when it is over, and then nobody waits for it. */
async function untilSilent(url: string, over: { readonly yet: boolean }): Promise<void> {
  // Loaded only where it is used: the embedded service starts without it.
  const { answers } = await import('../platform/db/answers.ts')
  for (let last = performance.now(); !over.yet; ) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    if (over.yet) return
    if (await answers(url, ANSWER_MS)) last = performance.now()
    else if (performance.now() - last > SILENCE_MS)
      throw new DatabaseGone('the database does not answer: stopped without it')
  }
}
