// Members of a workspace. An invited person accepts by a link.

import type * as wire from "@tallystick/client/wire"
import { definedOf } from "@tallystick/proof"
import type { Membership } from "../../store/documents.ts"
import { makerOf } from "../../workspace/makers.ts"
import { instanceWorkspace } from "../../workspace/permissions.ts"
import { created, ok, type Answer } from "../endpoint.ts"
import {
  changeable,
  endpoint,
  listAnswer,
  permit,
  permitWriting,
  type Service,
  type ServiceEndpoint,
} from "../service.ts"
import { ListQuery } from "../shapes/list.ts"
import {
  InvitedMember,
  Member,
  MemberChange,
  MemberList,
  NewMember,
  Nothing,
} from "../shapes/member.ts"

export function memberEndpoints(service: Service): readonly ServiceEndpoint[] {
  return [
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/members",
      operation: "inviteMember",
      summary: "Invite a member",
      description:
        "Only this answer shows the address at which the member sets up the account. The address works once, for one day.",
      access: { action: "administer" },
      body: NewMember,
      answers: { 201: InvitedMember },
      async handle({ caller, params, body }) {
        const workspace = await changeable(service, params.workspaceId)
        const { document, token } = await service.members.invite(caller, workspace, body)
        return invited(service, document, token)
      },
    }),
    endpoint({
      route: "GET /v1/workspaces/{workspaceId}/members",
      operation: "listMembers",
      summary: "List the members",
      description: "The members of a workspace and those who are invited, newest first.",
      access: { action: "administer" },
      query: ListQuery,
      answers: { 200: MemberList },
      handle: (call) =>
        listAnswer(service, "membership", "members", call, {
          show: (members) => membersJson(service, members),
        }),
    }),
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/members/{memberId}",
      access: { action: "preside" },
      operation: "addMember",
      summary: "Add an account",
      description:
        "Makes an existing account a member of this workspace. The account may belong to any workspace.",
      body: MemberChange,
      answers: { 201: Member },
      async handle({ caller, params: { workspaceId, memberId }, body }) {
        permitWriting(service, instanceWorkspace)
        const workspace = await changeable(service, workspaceId)
        await service.accounts.join(caller, workspace, memberId, body.role)
        return created(await memberJson(service, await service.members.get(workspaceId, memberId)))
      },
    }),
    endpoint({
      route: "PATCH /v1/workspaces/{workspaceId}/members/{memberId}",
      operation: "updateMember",
      summary: "Change the role of a member",
      description: "The new role applies from the member's next request on.",
      access: { action: "administer" },
      body: MemberChange,
      answers: { 200: Member },
      async handle({ caller, params: { workspaceId, memberId }, body }) {
        const workspace = await changeable(service, workspaceId)
        return ok(
          await memberJson(
            service,
            await service.members.changeRole(caller, workspace, memberId, body.role),
          ),
        )
      },
    }),
    endpoint({
      route: "DELETE /v1/workspaces/{workspaceId}/members/{memberId}",
      operation: "removeMember",
      summary: "Remove a member",
      description: "Removes a member from the workspace, or takes an invitation back.",
      access: { action: "administer" },
      answers: { 204: null },
      async handle({ caller, params: { workspaceId, memberId } }) {
        await service.members.remove(caller, await changeable(service, workspaceId), memberId)
        if (service.halted(instanceWorkspace) === undefined)
          await service.accounts.removeIfNowhere(caller, memberId)
        return { status: 204 }
      },
    }),
    endpoint({
      route: "POST /v1/workspaces/{workspaceId}/members/{memberId}/setup",
      operation: "renewInvitation",
      summary: "Invite a member again",
      description:
        "Returns a new address at which to set up the account, or, for a member who has joined, to set a new password. For such a member, and for one whom the instance invited, this needs the instance key.",
      access: { action: "administer" },
      body: Nothing,
      bodyMayBeAbsent: true,
      answers: { 201: InvitedMember },
      async handle({ caller, params: { workspaceId, memberId } }) {
        const workspace = await service.workspaces.get(workspaceId)
        const member = await service.members.get(workspaceId, memberId)
        const isInvited = member.value.joinedAt === undefined
        // Whoever can set the password of an instance account is that member in all workspaces, so
        // an admin of one workspace must not be able to.
        if (!isInvited || !service.members.isOfWorkspace(member)) permit(caller, "preside")
        permitWriting(service, isInvited ? workspaceId : instanceWorkspace)
        const { token } = isInvited
          ? await service.members.inviteAgain(caller, workspace, memberId)
          : await service.accounts.offerPassword(caller, memberId)
        return invited(service, member, token)
      },
    }),
  ]
}

/** With the page that uses the token: it is in the fragment, which browsers do not send. */
async function invited(service: Service, member: Membership, token: string): Promise<Answer> {
  const setupUrl = `${service.publicUrl}/ui/setup#t=${token}`
  return created({ member: await memberJson(service, member), setupUrl })
}

export function membersJson(
  service: Service,
  members: readonly Membership[],
): Promise<wire.Member[]> {
  return Promise.all(members.map((member) => memberJson(service, member)))
}

async function memberJson(
  { store }: Service,
  { id, workspace, value }: Membership,
): Promise<wire.Member> {
  const { email, name, role, createdAt, createdBy, joinedAt } = value
  return {
    id,
    workspaceId: workspace,
    email,
    ...definedOf({ name }),
    role,
    createdAt,
    createdBy: await makerOf(store.registry, workspace, createdBy),
    ...definedOf({ joinedAt }),
  }
}
