# Run by cpack when the packages are there. cpack adds maintainer scripts that call ldconfig to a package with a library;
# the trigger does that (Debian policy, 8.1.1), so they go.
foreach(deb ${CPACK_PACKAGE_FILES})
    set(dir ${deb}.d)
    execute_process(COMMAND dpkg-deb -R ${deb} ${dir} COMMAND_ERROR_IS_FATAL ANY)
    if(EXISTS ${dir}/DEBIAN/postinst)
        file(REMOVE ${dir}/DEBIAN/postinst ${dir}/DEBIAN/postrm)
        execute_process(COMMAND dpkg-deb --root-owner-group -b ${dir} ${deb} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    endif()
    file(REMOVE_RECURSE ${dir})
endforeach()
