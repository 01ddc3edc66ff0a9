// Changes of code, what they deploy, and what is wrong with it.

import type { TemplateSource } from './catalogue.ts'

export const SOFTWARE_ENGINEERING: TemplateSource = {
  id: 'gns-software-engineering',
  name: 'gns-software-engineering',
  version: '1.0.0',
  description: 'Code changes, deployments and vulnerabilities; merging and approving deployments',
  objects: {
    CodeChange: { title: 'string!', files_changed: 'integer' },
    Deployment: { environment: 'string!', status: 'string' },
    Vulnerability: { cve_id: 'string!', severity: 'string' },
  },
  links: {
    CodeChangeTriggersDeployment: ['CodeChange', 'Deployment', 'many_to_one'],
    DeploymentHasVulnerability: ['Deployment', 'Vulnerability', 'many_to_many'],
  },
  actions: {
    approve_deploy: ['Deployment', 'verified'],
    merge_code: ['CodeChange', 'basic'],
  },
}
