# libpt0, libpt-dev, libpt-tools:
#     cmake --preset package && cmake --build --preset package && cpack --preset deb
# The preset has the prefix /usr (for multiarch library directories) and tools that share the library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libpt)
set(CPACK_PACKAGE_VENDOR "the libpt authors")
set(CPACK_PACKAGE_CONTACT "the libpt authors <libpt@localhost>" CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL runtime dev tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/deb-tree.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# A package of the distribution's, -1, replaces one that was made from the source.
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~upstream1)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/deb-finish.cmake)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libpt${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
file(WRITE ${PROJECT_BINARY_DIR}/deb/triggers "activate-noawait ldconfig\n")
file(CHMOD ${PROJECT_BINARY_DIR}/deb/triggers PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/deb/triggers)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Reads and writes packets and perf.data files, and reconstructs from a
trace and the code which instructions ran.
.
This package holds the shared library.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpt-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libpt${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libelf-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Reads and writes packets and perf.data files, and reconstructs from a
trace and the code which instructions ran.
.
This package holds headers, the static library, manual pages and examples.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME libpt-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
if(PT_SHARED_TOOLS)
    # dpkg-shlibdeps looks for the library in the build tree; its package is made at the same time.
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
    set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS
        "libpt${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "linux-perf, parallel, libpt-dev")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "ptcapture records what a program executes, with the processor or, without
Intel PT, in software. ptdump prints packets, ptxed instructions; both read
perf.data files and raw traces. Scripts take recordings apart and pack them
for another machine.")

# What Debian wants in every package: copyright and changelog (not part of other installations).
file(WRITE ${PROJECT_BINARY_DIR}/deb/changelog.Debian
"libpt (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  Sun, 29 Nov 2026 12:00:00 +0000
")
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
file(WRITE ${PROJECT_BINARY_DIR}/deb/copyright "libpt\n\n${license}")
foreach(component runtime dev tools)
    string(TOUPPER ${component} upper)
    set(doc share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    install(FILES ${PROJECT_BINARY_DIR}/deb/changelog.Debian ${PROJECT_BINARY_DIR}/deb/copyright
        DESTINATION ${doc} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
