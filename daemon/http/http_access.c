/* SPDX-License-Identifier: BSD-2-Clause
 * Cookies, tokens, addresses and proxies. */
#include "daemon/http/http_access.h"

#include <arpa/inet.h>
#include <libavutil/base64.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/address.h"
#include "daemon/http/http_request.h"

/* ---- addresses ---- */

static void write_address(const struct sockaddr *from, char ret[HALO_HTTP_ADDRESS])
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
    snprintf(ret, HALO_HTTP_ADDRESS, "%s", "local");
    if (from && from->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, ret, HALO_HTTP_ADDRESS);
    else if (from && from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], ret, HALO_HTTP_ADDRESS);
    else if (from && from->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &six->sin6_addr, ret, HALO_HTTP_ADDRESS);
}

static bool is_this_machine(const char *address)
{
    return !strcmp(address, "local") || !strcmp(address, "::1") || !strncmp(address, "127.", 4);
}

/* Whether nobody on the way from this address can read along. */
static bool is_guarded(const struct halo_http_gate *gate, const char *address)
{
    return gate->tls || is_this_machine(address) || halo_address_is_listed(gate->proxy, address);
}

bool halo_http_lets_in(const struct halo_http_gate *gate, const struct sockaddr *from)
{
    char address[HALO_HTTP_ADDRESS];
    write_address(from, address);
    return gate->metrics || is_guarded(gate, address);
}

const char *halo_http_header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* The last address of the last header: a proxy may add a header of its own. */
static enum MHD_Result take_forwarded(void *arg, enum MHD_ValueKind kind, const char *key,
                                      const char *value)
{
    const char **last = arg;
    (void)kind;
    if (value && !strcasecmp(key, "X-Forwarded-For")) {
        const char *comma = strrchr(value, ',');
        *last = comma ? comma + 1 + strspn(comma + 1, " ") : value;
    }
    return MHD_YES;
}

static bool is_address(const char *text)
{
    unsigned char ip[16];
    return inet_pton(AF_INET, text, ip) == 1 || inet_pton(AF_INET6, text, ip) == 1;
}

/* Whether a proxy says that it is one. */
static bool is_passed_on(struct MHD_Connection *connection)
{
    static const char *const names[] = {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (halo_http_header(connection, names[i]))
            return true;
    return false;
}

/* Where the request comes from. A proxy appends the address of its client to X-Forwarded-For; what
 * stands before it may be invented. */
static void find_address(const struct halo_http_gate *gate, struct MHD_Connection *connection,
                         struct halo_http_who *ret)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    write_address(info ? info->client_addr : NULL, ret->address);
    ret->tls = gate->tls;
    ret->exposed = !is_guarded(gate, ret->address);
    ret->relayed = is_passed_on(connection);
    const bool local = !strcmp(ret->address, "local"); /* a Unix socket: a proxy, too */
    if (!local && !halo_address_is_listed(gate->proxy, ret->address))
        return;
    const char *proto = halo_http_header(connection, "X-Forwarded-Proto");
    const char *last = NULL;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, take_forwarded, &last);
    ret->tls |= proto && !strcasecmp(proto, "https");
    ret->forwarded = last;
    ret->relayed &= !last;
    if (last)
        snprintf(ret->address, sizeof ret->address, "%s", is_address(last) ? last : "unknown");
}

/* ---- who ---- */

/* "Bearer SECRET", or "Basic BASE64", whose password is the secret, for programs that know nothing
 * else. */
static bool find_secret(const char *authorization, char *ret, size_t size)
{
    if (authorization && !strncasecmp(authorization, "Bearer ", 7))
        return snprintf(ret, size, "%s", authorization + 7) < (int)size;
    if (!authorization || strncasecmp(authorization, "Basic ", 6) != 0)
        return false;
    uint8_t plain[256];
    const int length = av_base64_decode(plain, authorization + 6, sizeof plain - 1);
    if (length < 0)
        return false;
    plain[length] = '\0';
    const char *colon = strchr((const char *)plain, ':');
    return colon && snprintf(ret, size, "%s", colon + 1) < (int)size;
}

static void find_session(const struct halo_http_gate *gate, const char *cookie,
                         struct halo_http_who *ret)
{
    const struct halo_session *session = halo_access_session(gate->access, cookie);
    const char *hash;
    if (!session)
        return;
    ret->role = halo_users_find(halo_access_users(gate->access), session->user, &hash);
    snprintf(ret->name, sizeof ret->name, "%s", session->user);
    snprintf(ret->cookie, sizeof ret->cookie, "%s", session->cookie);
    snprintf(ret->token, sizeof ret->token, "%s", session->token);
}

/* As long as there are no users, this machine may view, but not everybody whom a proxy on this
 * machine lets in. */
static enum halo_role role_of_nobody(const struct halo_http_gate *gate,
                                     const struct halo_http_who *who)
{
    const bool mine =
        is_this_machine(who->address) && !who->relayed && (!gate->proxy || who->forwarded);
    return mine ? HALO_ROLE_VIEW : HALO_ROLE_NONE;
}

void halo_http_who(const struct halo_http_gate *gate, struct MHD_Connection *connection,
                   struct halo_http_who *ret)
{
    const struct halo_users *users = gate->access ? halo_access_users(gate->access) : NULL;
    char secret[2 * HALO_SECRET_SIZE];
    const char *name = NULL;
    *ret = (struct halo_http_who){0};
    find_address(gate, connection, ret);
    if (!users || !halo_users_exist(users))
        ret->role = role_of_nobody(gate, ret);
    if (!users)
        return;
    const char *cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, gate->cookie);
    if (find_secret(halo_http_header(connection, "Authorization"), secret, sizeof secret)) {
        const enum halo_role role = halo_users_find_token(users, secret, &name);
        if (role == HALO_ROLE_NONE)
            return;
        ret->role = role;
        snprintf(ret->secret, sizeof ret->secret, "%.64s", secret);
        snprintf(ret->name, sizeof ret->name, "%s", name);
    } else if (cookie) {
        find_session(gate, cookie, ret);
    }
}

bool halo_http_has_token(const struct halo_http_who *who, struct MHD_Connection *connection)
{
    const char *token = halo_http_header(connection, "X-Halod-Token");
    return who->secret[0] || !who->cookie[0] || (token && halo_secret_is(who->token, token));
}

enum halo_role halo_http_role_now(const struct halo_http_gate *gate,
                                  const struct halo_http_who *who)
{
    const struct halo_users *users = gate->access ? halo_access_users(gate->access) : NULL;
    const char *hash;
    if (!who->name[0])
        return users && halo_users_exist(users) ? HALO_ROLE_NONE : who->role;
    if (who->secret[0])
        return halo_users_find_token(users, who->secret, &hash);
    return halo_access_session(gate->access, who->cookie)
               ? halo_users_find(halo_access_users(gate->access), who->name, &hash)
               : HALO_ROLE_NONE;
}
