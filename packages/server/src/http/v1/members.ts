// Members of a workspace. Whoever is invited takes the invitation up by its link.

import type { Member as WireMember } from "@tallystick/client/wire"
import type { Document } from "../../store/store.ts"
import { instanceWorkspace } from "../../workspace/allow.ts"
import { endpoint, permit, permitWriting, type Service, type ServiceEndpoint } from "../service.ts"
import { ListQuery } from "../shapes/list.ts"
import { InvitedMember, Member, MemberChange, MemberList, NewMember, Nothing } from "../shapes/member.ts"
import { MemberParams, WorkspaceParams } from "../shapes/path.ts"

/** What all of them have in common. */
const ofMembers = { access: { action: "administer" }, path: "/v1/workspaces/{workspaceId}/members" } as const
const ofMember = {
  access: { action: "administer" },
  path: "/v1/workspaces/{workspaceId}/members/{memberId}",
  params: MemberParams,
} as const

export function memberEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      ...ofMembers,
      method: "POST",
      summary: "Invite a member; the address to set up the account is shown once",
      params: WorkspaceParams,
      body: NewMember,
      answers: { 201: InvitedMember },
      async handle({ caller, params, body }) {
        permit(caller, "administer", params.workspaceId)
        permitWriting(service, params.workspaceId)
        const workspace = await service.workspaces.get(params.workspaceId)
        const { document, token } = await service.members.invite(caller, workspace, body)
        return { status: 201, body: { member: memberJson(document), setupUrl: setupUrl(service.publicUrl, token) } }
      },
    }),
    endpoint({
      ...ofMembers,
      method: "GET",
      summary: "List the members, and who is invited",
      params: WorkspaceParams,
      query: ListQuery,
      answers: { 200: MemberList },
      async handle({ params, query, incoming: { signal } }) {
        const { id } = await service.workspaces.get(params.workspaceId)
        const { items, nextCursor } = await service.lists.page(`${id}/members`, query, signal, (before, limit) =>
          service.members.list(id, before, limit),
        )
        return { status: 200, body: { members: items.map(memberJson), nextCursor } }
      },
    }),
    endpoint({
      ...ofMember,
      access: { action: "preside" },
      method: "POST",
      summary: "Make an account a member, whichever workspace it belongs to",
      body: MemberChange,
      answers: { 201: Member },
      async handle({ caller, params: { workspaceId, memberId }, body }) {
        permit(caller, "preside")
        for (const changed of [workspaceId, instanceWorkspace]) permitWriting(service, changed)
        const workspace = await service.workspaces.get(workspaceId)
        await service.accounts.join(caller, workspace, memberId, body.role)
        return { status: 201, body: memberJson(await service.members.get(workspaceId, memberId)) }
      },
    }),
    endpoint({
      ...ofMember,
      method: "PATCH",
      summary: "Change the role of a member",
      body: MemberChange,
      answers: { 200: Member },
      async handle({ caller, params: { workspaceId, memberId }, body }) {
        permit(caller, "administer", workspaceId)
        permitWriting(service, workspaceId)
        const workspace = await service.workspaces.get(workspaceId)
        return { status: 200, body: memberJson(await service.members.changeRole(caller, workspace, memberId, body.role)) }
      },
    }),
    endpoint({
      ...ofMember,
      method: "DELETE",
      summary: "Remove a member from the workspace, or take an invitation back",
      answers: { 204: null },
      async handle({ caller, params: { workspaceId, memberId } }) {
        permit(caller, "administer", workspaceId)
        permitWriting(service, workspaceId)
        await service.members.remove(caller, await service.workspaces.get(workspaceId), memberId)
        if (service.halted(instanceWorkspace) === undefined) await service.accounts.removeIfNowhere(caller, memberId)
        return { status: 204 }
      },
    }),
    endpoint({
      ...ofMember,
      method: "POST",
      path: `${ofMember.path}/setup`,
      summary: "Another address to set up the account; of a member who has joined, to set another password",
      body: Nothing,
      bodyMayBeAbsent: true,
      answers: { 201: InvitedMember },
      async handle({ caller, params: { workspaceId, memberId } }) {
        permit(caller, "administer", workspaceId)
        const workspace = await service.workspaces.get(workspaceId)
        const member = await service.members.get(workspaceId, memberId)
        const isInvited = member.value.joinedAt === undefined
        // An account of the instance is not the workspace's: whoever could set its password would be that member in all other workspaces too.
        if (!isInvited || !service.members.isOfWorkspace(member)) permit(caller, "preside")
        permitWriting(service, isInvited ? workspaceId : instanceWorkspace)
        const { token } = isInvited
          ? await service.members.inviteAgain(caller, workspace, memberId)
          : await service.accounts.offerPassword(caller, memberId)
        return { status: 201, body: { member: memberJson(member), setupUrl: setupUrl(service.publicUrl, token) } }
      },
    }),
  ]
}

/** The page where a set-up token is used. It stands in the fragment, which is sent to nobody. */
function setupUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/ui/setup#t=${token}`
}

export function memberJson({ id, workspace, value }: Document<"membership">): WireMember {
  const { email, name, role, createdAt, joinedAt } = value
  const named = name === undefined ? {} : { name }
  return { id, workspaceId: workspace, email, ...named, role, createdAt, ...(joinedAt === undefined ? {} : { joinedAt }) }
}
