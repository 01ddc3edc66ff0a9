// Schedules of checks: which checks run automatically, and how often.

import {
  assuranceCreateSchedule,
  assuranceDeleteSchedule,
  assuranceSchedules,
  assuranceUpdateSchedule,
} from '@custos/client/operations'
import type { AssuranceCreateScheduleBody, AssuranceSchedule } from '@custos/client/types'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../../api/session.tsx'
import { useAction, useCall } from '../../api/use-call.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../../parts/dialog.tsx'
import { Pill } from '../../parts/display.tsx'
import { CheckFields, Form, TextField } from '../../parts/form.tsx'
import { Section } from '../../parts/page-header.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import css from './evidence.module.css'

const CHECKS = ['chain', 'seals', 'ledger', 'policies', 'clock', 'conformance'] as const

export function Schedules() {
  const { can } = useSession()
  const [creating, setCreating] = useState(false)
  const { data, error } = useCall(assuranceSchedules, [])
  const admin = can('compliance:admin')
  return (
    <Section
      title="Schedules"
      about="Checks that the service runs by itself."
      actions={
        admin && (
          <Button icon={Plus} onClick={() => setCreating(true)}>
            New schedule
          </Button>
        )
      }
    >
      {error && <ErrorState error={error} />}
      {!data && !error && <LoadingState />}
      {data?.schedules.length === 0 && <EmptyState title="Nothing is checked by itself yet" />}
      {data && data.schedules.length > 0 && (
        <ul className={css['schedules']} aria-label="Schedules">
          {data.schedules.map((schedule) => (
            <li key={schedule.schedule_id}>
              <ScheduleRow schedule={schedule} admin={admin} />
            </li>
          ))}
        </ul>
      )}
      <Dialog title="New schedule" open={creating} onClose={() => setCreating(false)}>
        <ScheduleForm done={() => setCreating(false)} />
      </Dialog>
    </Section>
  )
}

function ScheduleRow({ schedule, admin }: { schedule: AssuranceSchedule; admin: boolean }) {
  const [asked, setAsked] = useState<'change' | 'delete' | null>(null)
  const update = useAction(assuranceUpdateSchedule)
  const remove = useAction(assuranceDeleteSchedule)
  const close = () => setAsked(null)
  const { schedule_id: id, enabled, interval_min: minutes, checks, next_due_at: due } = schedule
  return (
    <>
      <span>
        <Pill tone={enabled ? 'good' : 'plain'}>{enabled ? 'active' : 'paused'}</Pill>{' '}
        {everyText(minutes)}: {checks.join(', ')}
        {enabled && due && (
          <>
            , next <Time value={due} relative />
          </>
        )}
      </span>
      {admin && (
        <span className={css['acts']}>
          <Button
            busy={update.isPending}
            onClick={() => update.mutate([id, { enabled: !enabled }])}
          >
            {enabled ? 'Pause' : 'Resume'}
          </Button>
          <Button onClick={() => setAsked('change')}>Change</Button>
          <Button kind="danger" onClick={() => setAsked('delete')}>
            Remove
          </Button>
        </span>
      )}
      {update.error && <ErrorState error={update.error} />}
      <Dialog title="Change the schedule" open={asked === 'change'} onClose={close}>
        <ScheduleForm schedule={schedule} done={close} />
      </Dialog>
      <ConfirmDialog
        title="Remove the schedule"
        open={asked === 'delete'}
        onClose={close}
        verb="Remove"
        act={() => remove.mutateAsync([id])}
      >
        <p>It starts no further check. What its runs found stays readable.</p>
      </ConfirmDialog>
    </>
  )
}

function everyText(minutes: number): string {
  if (minutes % 60 !== 0) return `every ${minutes} min`
  return minutes === 60 ? 'every hour' : `every ${minutes / 60} hours`
}

/** The form of a schedule, or of a new one if `schedule` is absent. */
function ScheduleForm({ schedule, done }: { schedule?: AssuranceSchedule; done: () => void }) {
  const [minutes, setMinutes] = useState(String(schedule?.interval_min ?? 60))
  const [chosen, setChosen] = useState<readonly string[]>(schedule?.checks ?? ['chain', 'ledger'])
  const create = useAction(assuranceCreateSchedule)
  const update = useAction(assuranceUpdateSchedule)
  const submit = async () => {
    const body: AssuranceCreateScheduleBody = {
      interval_min: Number(minutes),
      checks: CHECKS.filter((check) => chosen.includes(check)),
    }
    if (schedule) await update.mutateAsync([schedule.schedule_id, body])
    else await create.mutateAsync([body])
    done()
  }
  const error = create.error ?? update.error
  return (
    // The refusal is shown below; there is nothing else to do about it.
    <Form label="Schedule" onSubmit={() => submit().catch(() => undefined)}>
      <TextField
        label="Every … minutes"
        hint="From 5 minutes to a day; with conformance at least 60"
        type="number"
        min={5}
        max={1_440}
        required
        value={minutes}
        onChange={setMinutes}
      />
      <CheckFields
        legend="Checks"
        options={CHECKS.map((check) => [check, check] as const)}
        value={chosen}
        onChange={setChosen}
      />
      {error && <ErrorState error={error} />}
      <Button
        type="submit"
        kind="primary"
        busy={create.isPending || update.isPending}
        disabled={chosen.length === 0}
      >
        Save
      </Button>
    </Form>
  )
}
