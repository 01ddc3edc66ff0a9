// This browser as a witness of the log: checks that the log it saw before has not changed.

import type { Breadcrumb, Epoch } from '@custos/client/types'
import type { Verdict, WitnessResult } from '@custos/client/verify'
import { ShieldAlert, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { preferences } from '../../ambient.ts'
import { client } from '../../api/connection.ts'
import { useSession } from '../../api/session.tsx'
import { Button } from '../../parts/button.tsx'
import { describeWitnesses } from '../../parts/display.tsx'
import { Section } from '../../parts/page-header.tsx'
import { ErrorState } from '../../parts/states.tsx'
import { lookAtLog } from '../overview/checkpoint-watch.tsx'
import css from './log.module.css'

/** The checkpoint that the client's witness stored in this browser. */
function keptEpoch(tenant: string): Epoch | null {
  const kept = preferences.get(`custos-checkpoint ${client.url} ${tenant}`)
  return kept === null ? null : (JSON.parse(kept) as Epoch)
}

interface Findings {
  readonly witness: WitnessResult
  /** The verdict on the entries that the page shows. */
  readonly entries: Verdict | null
}

async function look(tenant: string, newestFirst: readonly Breadcrumb[]): Promise<Findings> {
  const { verify } = await import('@custos/client/verify')
  // The ids and links of entries are hashes, so their verification needs no key.
  const entries =
    newestFirst.length === 0 ? null : await verify(newestFirst.toReversed(), { keys: [] })
  return { witness: await lookAtLog(tenant), entries }
}

/** The verdict in the client's ProofError for a log that contradicts the stored checkpoint. */
const verdictOf = (error: unknown): Verdict | null =>
  error instanceof Error && 'verdict' in error ? (error.verdict as Verdict) : null

export function SeenSection({ entries }: { readonly entries: readonly Breadcrumb[] }) {
  const { caller } = useSession()
  const tenant = caller.tenant_id ?? ''
  const [found, setFound] = useState<Findings | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const kept = keptEpoch(tenant)
  const run = async () => {
    setBusy(true)
    setError(null)
    setFound(null)
    try {
      setFound(await look(tenant, entries))
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  const fork = verdictOf(error)
  return (
    <Section
      title="Everything this browser has seen"
      about={
        kept
          ? `It keeps checkpoint ${kept.epoch_number} with ${kept.tree_size} entries, and proves ` +
            'that the log since then only added to it.'
          : 'It has kept no checkpoint yet: the first look keeps the newest one, and later looks ' +
            'compare with it.'
      }
      actions={
        <Button kind="primary" icon={ShieldCheck} busy={busy} onClick={() => void run()}>
          Verify everything I have seen
        </Button>
      }
    >
      {fork && <Fork verdict={fork} kept={kept} />}
      {error !== null && !fork && <ErrorState error={error} />}
      <div role="status">{found && <Seen found={found} />}</div>
    </Section>
  )
}

function Fork({ verdict, kept }: { readonly verdict: Verdict; readonly kept: Epoch | null }) {
  const about = kept
    ? `What the service shows does not extend checkpoint ${kept.epoch_number}, ` +
      'which this browser kept.'
    : 'The checkpoint that the service shows does not verify.'
  return (
    <div className={css['fork']} role="alert">
      <ShieldAlert size={22} aria-hidden />
      <div>
        <strong>The log was changed</strong>
        <p>{about} Keep this page, and tell whoever answers for the service.</p>
        {verdict.reason && <p>{verdict.reason}</p>}
        <ul>
          {verdict.checks
            .filter(({ ok }) => !ok)
            .map(({ name, detail }) => (
              <li key={name}>
                ✗ {name.replaceAll('_', ' ')}
                {detail && `: ${detail}`}
              </li>
            ))}
        </ul>
      </div>
    </div>
  )
}

function Seen({ found: { witness, entries } }: { readonly found: Findings }) {
  const { epoch, previous } = witness
  const witnesses = epoch && describeWitnesses(epoch)
  return (
    <ul className={css['seen']}>
      {epoch ? (
        <li data-valid="true">
          ✓ Checkpoint {epoch.epoch_number} over {epoch.tree_size} entries has a valid signature
          {witnesses !== null && <>; of its witnesses {witnesses}</>}
        </li>
      ) : (
        <li>The log has no checkpoint yet</li>
      )}
      {epoch && previous && (
        <li data-valid="true">
          ✓ It extends checkpoint {previous.epoch_number} over {previous.tree_size} entries: nothing
          before was changed
        </li>
      )}
      {epoch && !previous && <li>It is kept as the first one that this browser saw</li>}
      {entries && (
        <li data-valid={entries.valid}>
          {entries.valid
            ? '✓ The entries on this page are linked without a gap, each id is a hash of its entry'
            : `✗ The entries on this page do not verify: ${entries.reason ?? ''}`}
        </li>
      )}
    </ul>
  )
}
