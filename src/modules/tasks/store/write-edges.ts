import { plain, type Statement } from '../../../db/statement.js';

interface Edge {
  readonly taskId: string;
  readonly dependsOnId: string;
}

/** Writes who waits for whom. */
export function insertEdges(projectId: string, edges: readonly Edge[]): Statement {
  return {
    name: 'dependencies_insert',
    text: `INSERT INTO dependencies (project_id, depends_on_id, task_id) SELECT $1, * FROM unnest($2::uuid[], $3::uuid[]) ON CONFLICT DO NOTHING`,
    values: [projectId, plain(edges, (e) => e.dependsOnId), plain(edges, (e) => e.taskId)],
  };
}

/** Forgets that some tasks wait for others. */
export function deleteEdges(projectId: string, edges: readonly Edge[]): Statement {
  return {
    name: 'dependencies_delete',
    text: `DELETE FROM dependencies WHERE ctid = ANY(ARRAY(SELECT d.ctid FROM unnest($2::uuid[], $3::uuid[]) AS u(depends_on_id, task_id)
      CROSS JOIN LATERAL (SELECT ctid FROM dependencies
        WHERE project_id = $1 AND depends_on_id = u.depends_on_id AND task_id = u.task_id OFFSET 0) d))`,
    values: [projectId, plain(edges, (e) => e.dependsOnId), plain(edges, (e) => e.taskId)],
  };
}
