// Examples of agents and runs.

import type { Sent } from '../table.ts'
import type { Ids } from '../world.ts'

const ofRun = ({ agent_run_id }: Ids) => ({ params: { run_id: agent_run_id } })
const ofStep = ({ agent_run_id, step_id }: Ids) => ({ params: { run_id: agent_run_id, step_id } })
const ofAction = ({ agent_action_id }: Ids) => ({ params: { action_id: agent_action_id } })
const ofWorkflow = ({ workflow_id }: Ids) => ({ params: { workflow_id } })
const ofWaiting = ({ waiting_workflow_id }: Ids) => ({
  params: { workflow_id: waiting_workflow_id },
})
const page = () => ({ query: { limit: 10, offset: 0 } })

/** A tenant has one agent of a name. */
let agents = 0
const newName = (): string => {
  agents += 1
  return `writer ${agents}`
}

/** By operation id. */
export const orchestratorExamples: Readonly<Record<string, (ids: Ids) => Sent>> = {
  'orchestrator.create_agent': () => ({ body: { name: newName(), model_id: 'model-a' } }),
  'orchestrator.list_agents': page,
  'orchestrator.get_agent': ({ agent_id }) => ({ params: { agent_id } }),
  'orchestrator.update_agent': ({ agent_id }) => ({
    params: { agent_id },
    body: { description: newName(), temperature: 0.5 },
  }),
  'orchestrator.delete_agent': ({ idle_agent_id }) => ({ params: { agent_id: idle_agent_id } }),
  'orchestrator.list_roles': () => ({}),
  'orchestrator.stats': () => ({}),
  'orchestrator.replay': ({ step_decision_id }) => ({
    params: { decision_id: step_decision_id },
    body: { max_tokens: 200 },
  }),
  'orchestrator.start_run': ({ agent_id }) => ({ body: { agent_id, deadline_s: 3_600 } }),
  'orchestrator.list_runs': page,
  'orchestrator.get_run': ofRun,
  'orchestrator.cancel_run': ofRun,
  'orchestrator.begin_step': (ids) => ({
    ...ofRun(ids),
    body: { input_text: 'What changed?', budget_tokens: 64, max_tokens: 100 },
  }),
  'orchestrator.get_step': ofStep,
  'orchestrator.propose': (ids) => ({
    params: { agent_id: ids.agent_id },
    body: { tool: 'search', args: { words: ['rain'] }, effect: 'read' },
  }),
  'orchestrator.call_tool': (ids) => ({
    ...ofStep(ids),
    body: { tool: 'search', args: { words: ['rain'] }, effect: 'read' },
  }),
  'orchestrator.complete_step': (ids) => ({
    ...ofStep(ids),
    body: { output: 'Nothing changed', tokens_in: 10, tokens_out: 2 },
  }),
  'orchestrator.receipts': ofRun,
  'orchestrator.list_steps': ofRun,
  'orchestrator.get_receipt': ({ receipt_id }) => ({ params: { receipt_id } }),
  'orchestrator.verify': ofRun,
  'orchestrator.bundle': ofRun,
  'llm.create_provider': () => ({
    body: { provider: 'anthropic', model_id: newName(), base_url: 'https://models.invalid/v1' },
  }),
  'llm.list_providers': page,
  'llm.delete_provider': ({ model_id }) => ({ params: { model_id } }),
  'llm.create_tool': () => ({
    body: {
      name: newName().replace(' ', '_'),
      description: 'Counts words',
      input_schema: { type: 'object', properties: { text: { type: 'string' } } },
      url: 'https://tools.invalid/count',
    },
  }),
  'llm.seed_builtins': () => ({ body: {} }),
  'llm.list_tools': page,
  'llm.delete_tool': ({ tool_name }) => ({ params: { tool_name } }),
  'orchestrator.get_call': ({ unresolved_run_id, call_id }) => ({
    params: { run_id: unresolved_run_id, call_id },
  }),
  'orchestrator.report_call': ({ unresolved_run_id, reported_call_id }) => ({
    params: { run_id: unresolved_run_id, call_id: reported_call_id },
    body: { result: 'It is red' },
  }),
  'orchestrator.resolve_call': ({ unresolved_run_id, call_id }) => ({
    params: { run_id: unresolved_run_id, call_id },
    body: { happened: true, result: 'It was sent' },
  }),
  'workflows.create': ({ agent_id }) => ({
    body: { name: 'in turn', agent_ids: [agent_id], mode: 'round_robin', max_rounds: 2 },
  }),
  'workflows.list': page,
  'workflows.get': ofWorkflow,
  'workflows.delete': ofWorkflow,
  // The host of its model does not exist: the run ends at once, as failed.
  'workflows.run': (ids) => ({
    ...ofWorkflow(ids),
    body: { input_text: 'Report on the week', timeout_seconds: 10 },
  }),
  'workflows.resume': (ids) => ({ ...ofWaiting(ids), body: { approved: true, approver: 'ben' } }),
  'workflows.terminate': ofWaiting,
  'workflows.receipts': ofWaiting,
  'workflows.verify_chain': ofWaiting,
  'workflows.run_step': ({ modelled_agent_id }) => ({
    body: { agent_id: modelled_agent_id, input_text: 'What changed?', timeout_seconds: 10 },
  }),
  'workflows.find_step': ({ step_id }) => ({ params: { step_id } }),
  'orchestrator.list_actions': page,
  'orchestrator.get_action': ofAction,
  'orchestrator.approve_action': ofAction,
  'orchestrator.reject_action': ofAction,
}
