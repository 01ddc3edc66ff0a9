// The state of a run in words and colour.

import type { Run } from '@custos/client/types'
import { inWords, Pill } from '../../parts/display.tsx'

export const RUN_TONES = {
  running: 'accent',
  waiting_hitl: 'warn',
  waiting_client: 'warn',
  waiting_resolution: 'warn',
  compensating: 'warn',
  completed: 'good',
  denied: 'bad',
  failed: 'bad',
  terminated: 'plain',
} as const satisfies Record<Run['state'], string>

const STATE_WORDS: Readonly<Record<string, string>> = {
  waiting_hitl: 'waits for approval',
  waiting_client: 'waits for its caller to report a call',
  compensating: 'has stopped, and undoes what its tools did',
  waiting_resolution: 'waits for somebody who knows whether a tool acted',
}

export const stateText = (state: string): string => STATE_WORDS[state] ?? inWords(state)

export const RunPill = ({ run }: { readonly run: Run }) => (
  <Pill tone={RUN_TONES[run.state]}>
    {stateText(run.state)}
    {run.termination_reason && `: ${inWords(run.termination_reason)}`}
  </Pill>
)
